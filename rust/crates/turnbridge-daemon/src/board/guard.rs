//! Decides which HTTP requests the board accepts, by the headers Host, Origin and Sec-Fetch-*, and
//! by the token; `server` decides which paths need the token. Pages of other sites can also send
//! requests to this machine. With a host name that resolves to it (DNS rebinding), they could even
//! read the responses.

use super::http::RequestHead;
use super::token;

/// The address of the board, which a request must name.
#[derive(Debug, Clone, Copy)]
pub struct Address {
    pub port: u16,
    /// Another program listens at `[::1]` with this port. A browser then shares its storage for
    /// `localhost` with that program, so that the board accepts neither name.
    pub is_ipv6_taken: bool,
}

impl Address {
    fn is_named_by(self, host: &str) -> bool {
        let Some((name, port)) = host.rsplit_once(':') else { return false };
        let names: &[&str] = match self.is_ipv6_taken {
            true => &["127.0.0.1"],
            false => &["127.0.0.1", "localhost", "[::1]"],
        };
        names.iter().any(|own| name.eq_ignore_ascii_case(own)) && port == self.port.to_string()
    }
}

/// Returns whether the request names the board and does not come from another site's page.
pub fn is_ours(head: &RequestHead, address: Address) -> bool {
    let Some(host) = head.only("host").filter(|host| address.is_named_by(host)) else {
        return false;
    };
    let is_own_origin = match head.only("origin") {
        Some(origin) => {
            let scheme_and_host = origin.split_once("://");
            scheme_and_host
                .is_some_and(|(scheme, other)| scheme == "http" && other.eq_ignore_ascii_case(host))
        }
        None => !head.has("origin"),
    };
    let is_own_site = match head.only("sec-fetch-site") {
        Some(site) => ["same-origin", "none"].contains(&site),
        None => !head.has("sec-fetch-site"),
    };
    is_own_origin && (is_own_site || is_visit(head))
}

/// Returns whether a top-level navigation leads from another page to the board: the page in the
/// state folder with the ticket does so. Any site may do that too, and therefore gets only the
/// static page without data.
fn is_visit(head: &RequestHead) -> bool {
    let is = |name: &str, value: &str| head.only(name) == Some(value);
    head.method == "GET"
        && head.path == "/"
        && !head.has("origin")
        && (is("sec-fetch-site", "cross-site") || is("sec-fetch-site", "same-site"))
        && is("sec-fetch-mode", "navigate")
        && is("sec-fetch-dest", "document")
}

pub fn has_token(head: &RequestHead, wanted: &str) -> bool {
    let given = head.only("authorization").and_then(|value| value.split_once(' '));
    given.is_some_and(|(scheme, given)| {
        scheme.eq_ignore_ascii_case("bearer") && token::is_same(wanted, given.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::http::read_head;

    const ADDRESS: Address = Address { port: 4_000, is_ipv6_taken: false };

    fn head(headers: &str) -> RequestHead {
        request("GET /", headers)
    }

    fn request(line: &str, headers: &str) -> RequestHead {
        let text = format!("{line} HTTP/1.1\r\n{headers}\r\n");
        read_head(&mut text.as_bytes()).unwrap().0
    }

    #[test]
    fn another_page_may_lead_to_ours_and_get_nothing_else() {
        let from = |site: &str, mode: &str, dest: &str| {
            format!(
                "Host: 127.0.0.1:4000\r\nSec-Fetch-Site: {site}\r\nSec-Fetch-Mode: {mode}\r\n\
                 Sec-Fetch-Dest: {dest}\r\n"
            )
        };
        let visit = from("cross-site", "navigate", "document");
        assert!(is_ours(&head(&visit), ADDRESS));
        assert!(is_ours(&head(&from("same-site", "navigate", "document")), ADDRESS));
        for line in ["POST /", "POST /enter", "GET /api/sessions", "GET /board.js", "HEAD /"] {
            assert!(!is_ours(&request(line, &visit), ADDRESS), "{line}");
        }
        for headers in [
            from("cross-site", "navigate", "iframe"),
            from("cross-site", "navigate", "object"),
            from("cross-site", "no-cors", "document"),
            from("cross-site", "no-cors", "script"),
            from("cross-site", "cors", "empty"),
            format!("{visit}Origin: null\r\n"),
            format!("{visit}Sec-Fetch-Mode: navigate\r\n"),
            visit.replace("127.0.0.1", "evil.example"),
        ] {
            assert!(!is_ours(&head(&headers), ADDRESS), "{headers}");
        }
    }

    #[test]
    fn a_name_that_leads_to_another_program_too_is_not_ours() {
        let address = Address { is_ipv6_taken: true, ..ADDRESS };
        assert!(is_ours(&head("Host: 127.0.0.1:4000\r\n"), address));
        for host in ["localhost:4000", "[::1]:4000"] {
            assert!(!is_ours(&head(&format!("Host: {host}\r\n")), address), "{host}");
        }
    }

    #[test]
    fn only_our_own_name_and_our_own_page_are_listened_to() {
        for own in ["127.0.0.1:4000", "localhost:4000", "LOCALHOST:4000", "[::1]:4000"] {
            assert!(is_ours(&head(&format!("Host: {own}\r\n")), ADDRESS), "{own}");
            let same = format!("Host: {own}\r\nOrigin: http://{own}\r\n");
            assert!(is_ours(&head(&same), ADDRESS), "{own}");
        }
        for other in [
            "",
            "Host: \r\n",
            "Host: 127.0.0.1\r\n",
            "Host: 127.0.0.1:4001\r\n",
            "Host: 127.0.0.1:04000\r\n",
            "Host: evil.example:4000\r\n",
            "Host: localhost.evil.example:4000\r\n",
            "Host: 127.0.0.1:4000\r\nHost: 127.0.0.1:4000\r\n",
            "Host: 127.0.0.1:4000\r\nOrigin: null\r\n",
            "Host: 127.0.0.1:4000\r\nOrigin: http://evil.example\r\n",
            "Host: 127.0.0.1:4000\r\nOrigin: https://127.0.0.1:4000\r\n",
            "Host: 127.0.0.1:4000\r\nOrigin: http://localhost:4000\r\n",
            "Host: 127.0.0.1:4000\r\nOrigin: http://127.0.0.1:3000\r\n",
            "Host: 127.0.0.1:4000\r\nSec-Fetch-Site: cross-site\r\n",
            "Host: 127.0.0.1:4000\r\nSec-Fetch-Site: same-site\r\n",
            "Host: 127.0.0.1:4000\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: none\r\n",
        ] {
            assert!(!is_ours(&head(other), ADDRESS), "{other}");
        }
        let browser = "Host: 127.0.0.1:4000\r\nSec-Fetch-Site: same-origin\r\n";
        assert!(is_ours(&head(browser), ADDRESS));
    }

    #[test]
    fn the_token_has_to_be_the_whole_one() {
        let wanted = "0123456789abcdef";
        assert!(has_token(&head("Authorization: Bearer 0123456789abcdef\r\n"), wanted));
        for wrong in [
            "",
            "Authorization: Bearer 0123456789abcdee\r\n",
            "Authorization: Bearer 0123456789abcde\r\n",
            "Authorization: Bearer\r\n",
            "Authorization: 0123456789abcdef\r\n",
            "Authorization: Basic 0123456789abcdef\r\n",
            "Authorization: Bearer x\r\nAuthorization: Bearer 0123456789abcdef\r\n",
        ] {
            assert!(!has_token(&head(wrong), wanted), "{wrong}");
        }
    }
}

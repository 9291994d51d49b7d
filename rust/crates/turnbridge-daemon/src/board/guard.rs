//! Who is listened to: a page of ours, or a program that has the token. Any other page that the user
//! has open can send requests to this machine too, and by a name of its own that leads here (DNS
//! rebinding) could even read the answers; so that name, origin and token all have to be right.

use super::http::Head;
use super::token;

/// Whether the request was meant for us, and not sent by somebody else's page.
pub fn is_ours(head: &Head, port: u16) -> bool {
    let Some(host) = head.only("host").filter(|host| is_own_host(host, port)) else {
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
    is_own_origin && is_own_site
}

fn is_own_host(host: &str, port: u16) -> bool {
    let Some((name, own_port)) = host.rsplit_once(':') else { return false };
    let names = ["127.0.0.1", "localhost", "[::1]"];
    names.iter().any(|own| name.eq_ignore_ascii_case(own)) && own_port == port.to_string()
}

pub fn has_token(head: &Head, wanted: &str) -> bool {
    let given = head.only("authorization").and_then(|value| value.split_once(' '));
    given.is_some_and(|(scheme, given)| {
        scheme.eq_ignore_ascii_case("bearer") && token::is_same(wanted, given.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::http::read_head;

    fn head(headers: &str) -> Head {
        let text = format!("GET / HTTP/1.1\r\n{headers}\r\n");
        read_head(&mut text.as_bytes()).unwrap().0
    }

    #[test]
    fn only_our_own_name_and_our_own_page_are_listened_to() {
        for own in ["127.0.0.1:4000", "localhost:4000", "LOCALHOST:4000", "[::1]:4000"] {
            assert!(is_ours(&head(&format!("Host: {own}\r\n")), 4_000), "{own}");
            let same = format!("Host: {own}\r\nOrigin: http://{own}\r\n");
            assert!(is_ours(&head(&same), 4_000), "{own}");
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
            assert!(!is_ours(&head(other), 4_000), "{other}");
        }
        let browser = "Host: 127.0.0.1:4000\r\nSec-Fetch-Site: same-origin\r\n";
        assert!(is_ours(&head(browser), 4_000));
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

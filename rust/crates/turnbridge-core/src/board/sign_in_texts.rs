//! Lists the texts of `turnbridge board` while a browser signs in, in both languages.

use crate::text::catalogue::{catalogue, filled};
use crate::text::spoken_text::Language;

catalogue! {
    /// `{0}` is the board's plain address, `{1}` its port, `{2}` the code, `{3}` its minutes.
    SignInText
    /// The browser was started, and has not fetched the page.
    NotOpened:
        "ブラウザーがサインイン用のページを開いていません。",
        "The browser has not opened the sign-in page.";
    /// The machine has no program that opens addresses, or no display.
    NoBrowser:
        "ここではブラウザーを開けません。",
        "No browser can be opened here.";
    /// A user who is connected by SSH has the browser elsewhere.
    ByForwarding:
        "ブラウザーのあるマシンで次を実行してください（HOST はこのマシンの名前です）：\n\n    ssh -L {1}:127.0.0.1:{1} HOST",
        "On the machine with the browser, run this (HOST is this machine's name):\n\n    ssh -L {1}:127.0.0.1:{1} HOST";
    TypeCode:
        "{0} を開き、次のコードを入力してください：\n\n    {2}\n\n{3} 分間、1 回だけ、このコマンドの実行中に使えます。Ctrl-C で取り消せます。",
        "Open {0} and type this code:\n\n    {2}\n\nIt is good once, for {3} minutes, while this command runs. Ctrl-C cancels it.";
    SignedIn:
        "サインインしました。",
        "Signed in.";
    Replaced:
        "別の `turnbridge board` がサインインを引き継ぎました。",
        "Another `turnbridge board` has taken over the sign-in.";
    BoardGone:
        "デーモンが終了したため、サインインできませんでした",
        "the daemon stopped before you signed in";
    StartDaemon:
        "`turnbridge daemon` で起動してから、もう一度実行してください",
        "start it with `turnbridge daemon`, then run this again";
    TooManyWrongCodes:
        "間違ったコードが 5 回入力されたため、コードを無効にしました",
        "five wrong codes were typed, so that the code is void";
    CodeExpired:
        "時間内にサインインがなかったため、コードを無効にしました",
        "the code has expired, because you did not sign in in time";
    TryAgain:
        "新しいコードは `turnbridge board --code` で表示できます",
        "`turnbridge board --code` shows a new one";
}

impl SignInText {
    /// Returns the text with the values in their places.
    pub fn with(self, language: Language, values: &[&str]) -> String {
        filled(self.text(language), values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::sign_in::MOST_WRONG_CODES;
    use crate::text::catalogue::tests::check;

    #[test]
    fn every_text_is_in_both_languages_with_the_same_places() {
        assert_eq!(MOST_WRONG_CODES, 5);
        for text in SignInText::ALL {
            check(text.text(Language::Japanese), text.text(Language::English));
        }
    }
}

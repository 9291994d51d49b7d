// The form for a code, which `turnbridge board` shows in the terminal. It is visible while the page has no token, or
// one that the daemon does not accept.

import { Refusal, hasToken, signIn } from "/connection.js";
import { around, element, text } from "/texts.js";

export class SignIn {
  /** Calls `done` when there is a new token. */
  constructor(section, done) {
    this.section = section;
    this.done = done;
    this.error = null;
  }

  show() {
    const typed = this.input?.value ?? "";
    this.input = element("input", {
      id: "code",
      type: "text",
      name: "code",
      autocomplete: "one-time-code",
      autocapitalize: "characters",
      autocorrect: "off",
      spellcheck: "false",
      maxlength: "24",
      placeholder: "XXXX-XXXX",
      "aria-describedby": "code-hint code-problem",
    });
    this.input.value = typed;
    this.button = element("button", { type: "submit", class: "primary" }, text("sign_in"));
    this.problem = element("p", { id: "code-problem", class: "problem", role: "alert", hidden: true });
    const [before, after] = around("code_hint");
    const form = element(
      "form",
      { novalidate: true, onsubmit: (event) => this.submit(event) },
      element("h2", { id: "sign-in-title" }, text("sign_in_title")),
      element("p", { class: "why" }, text(hasToken() ? "signed_out" : "not_signed_in")),
      element("label", { for: "code" }, text("code")),
      element("div", { class: "code-row" }, this.input, this.button),
      this.problem,
      element("p", { id: "code-hint", class: "explained" }, before, element("code", {}, "turnbridge board --code"), after),
    );
    this.section.replaceChildren(form);
    this.section.hidden = false;
    document.body.classList.add("signed-out");
    this.showError();
    this.input.focus();
  }

  hide() {
    if (this.section.hidden) return;
    this.section.hidden = true;
    this.section.replaceChildren();
    this.input = null;
    this.error = null;
    document.body.classList.remove("signed-out");
  }

  isShown() {
    return !this.section.hidden;
  }

  /** Shows the error in the current language. */
  showError() {
    this.problem.hidden = this.error === null;
    this.problem.textContent = this.error === null ? "" : text(...this.error);
    this.input.setAttribute("aria-invalid", String(this.error !== null));
  }

  async submit(event) {
    event.preventDefault();
    if (this.button.disabled) return;
    const code = this.input.value;
    if (code.trim() === "") return this.input.focus();
    this.button.disabled = true;
    try {
      await signIn(code);
      this.done();
    } catch (error) {
      this.error = words(error);
      this.showError();
      this.input.focus();
      this.input.select();
    } finally {
      this.button.disabled = false;
    }
  }
}

/** Returns a key of the texts, with its values. */
function words(error) {
  if (!(error instanceof Refusal)) return ["code_lost"];
  const left = error.reason?.wrong_code;
  if (left !== undefined) return [left === 1 ? "code_wrong_once" : "code_wrong", left];
  if (error.reason === "no_code") return ["code_none"];
  if (error.reason === "void_code") return ["code_void"];
  return ["failed", error.message];
}

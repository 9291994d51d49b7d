// The settings (KT-83): the hooks in Claude Code's own settings. The command's output is shown unchanged, a failure
// with its hint (KT-84).

import { ask, tell } from "/connection.js";
import { element, text } from "/texts.js";

export class Settings {
  constructor(dialog) {
    this.dialog = dialog;
  }

  async open() {
    this.build();
    this.dialog.showModal();
    this.say(text("looking"));
    try {
      const settings = await ask("/api/settings");
      this.show(settings.claude_hooks);
      this.showListeners(settings.replies);
      this.showConfigProblem(settings.config_problem);
    } catch (error) {
      this.fail({ error: error.message });
    }
  }

  build() {
    const close = element(
      "button",
      { type: "button", class: "icon", "aria-label": text("close"), title: text("close"), onclick: () => this.dialog.close() },
      element("span", { "aria-hidden": "true" }, "✕"),
    );
    this.toggle = element("input", {
      type: "checkbox",
      role: "switch",
      id: "hooks-toggle",
      disabled: true,
      "aria-describedby": "hooks-explained",
      onchange: () => this.change(this.toggle.checked),
    });
    this.apply = element("button", { type: "button", disabled: true, onclick: () => this.change(true) }, text("hooks_apply"));
    this.state = element("p", { class: "hooks-state", role: "status" });
    this.problem = element("p", { class: "problem", role: "alert", hidden: true });
    this.config = element("p", { class: "problem config-problem", role: "alert", hidden: true });
    this.listeners = element("p", { class: "explained", hidden: true });
    this.output = element("pre", { class: "output", tabindex: "0", hidden: true });
    this.dialog.replaceChildren(
      element("header", {}, element("h2", { id: "settings-title" }, text("settings")), close),
      this.config,
      element("div", { class: "setting" }, element("label", { for: "hooks-toggle" }, text("hooks_toggle")), this.toggle),
      element("p", { id: "hooks-explained", class: "explained" }, text("hooks_explained")),
      element("div", { class: "setting" }, this.state, this.apply),
      this.problem,
      this.output,
      this.listeners,
    );
  }

  /** Shows the other users of the Slack app, and their effect on replies. */
  showListeners(replies) {
    if (!replies || (replies.machines.length < 2 && replies.listeners < 2 && !replies.too_many_listeners)) return;
    const names = replies.machines.map((machine) => machine.name).join(", ");
    const key = replies.too_many_listeners ? "too_many_listeners" : "listeners";
    this.listeners.textContent = text(key, replies.machines.length, names, replies.listeners, replies.asks_every_seconds);
    this.listeners.hidden = false;
  }

  /** What `turnbridge daemon status` says of a config that cannot be read. */
  showConfigProblem(problem) {
    if (!problem) return;
    const key = problem.is_older_in_force ? "config_older_stays" : "config_none";
    this.config.textContent = [text(key), problem.error, text("hint", problem.hint)].join("\n");
    this.config.hidden = false;
  }

  say(words) {
    this.state.textContent = words;
  }

  fail({ error, hint }) {
    this.problem.textContent = [text("failed", error), hint ? text("hint", hint) : ""].join("\n").trim();
    this.problem.hidden = false;
  }

  /** Shows the output of `turnbridge hooks status`. */
  show(hooks) {
    this.toggle.disabled = false;
    this.apply.disabled = false;
    if (hooks.registered === undefined) {
      this.say("");
      this.fail(hooks);
      return;
    }
    this.toggle.checked = hooks.registered !== "no";
    const off = hooks.all_hooks_off ? ` ${text("hooks_off")}` : "";
    const registered = text(`hooks_${hooks.registered}`);
    this.say(`${text("hooks_in", registered, hooks.path)}${off}`);
  }

  async change(enabled) {
    this.toggle.disabled = true;
    this.apply.disabled = true;
    this.problem.hidden = true;
    this.output.hidden = true;
    this.say(text("under_change"));
    try {
      const said = await tell("/api/settings/claude-hooks", { enabled });
      this.show(said.claude_hooks);
      if (!said.ok) this.fail(said);
      this.output.textContent = said.output ?? "";
      this.output.hidden = !said.output;
    } catch (error) {
      this.show({ error: error.message });
    }
  }
}

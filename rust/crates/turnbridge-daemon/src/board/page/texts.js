// Every text of the page, in both languages. `{0}` is the first argument.

const TEXTS = {
  en: {
    sessions: "Sessions",
    thread: "Thread",
    filter: "Filter",
    settings: "Settings",
    close: "Close",
    back: "Back to all sessions",
    connecting: "Connecting…",
    connected: "Live",
    lost: "Reconnecting…",
    refused: "Not signed in",
    sign_in_title: "Sign in to the board",
    not_signed_in: "Type the code that your terminal shows.",
    signed_out: "The daemon was started anew. Sign in again with a new code.",
    code: "One-time code",
    code_hint: "No code? Run {0} in a terminal on the daemon's machine.",
    sign_in: "Sign in",
    code_wrong: "This code is not right. {0} more tries.",
    code_wrong_once: "This code is not right. One more try.",
    code_none: "No code is waiting to be typed: it was used, or its time is over. Get a new one.",
    code_void: "Too many wrong codes. Get a new one.",
    lost_title: "The daemon does not answer",
    lost_hint: "What is shown may be out of date. If the daemon has ended, run {0} in a terminal, then {1}: the board has a new address then.",
    none_refused: "Sign in to see your sessions.",
    none_lost: "The sessions cannot be read: the daemon does not answer.",
    code_lost: "The daemon does not answer. Try again when it runs.",
    none: "No sessions yet. Start `claude` or `codex`, and they appear here.",
    none_match: "No session matches the filter.",
    choose: "Choose a session to read it and to answer.",
    keys: "j k: move · Enter: open · r: reply · /: filter · Esc: back",
    group_waiting_user: "Waiting for you",
    group_working: "Working",
    group_completed: "Completed",
    group_stopped: "Stopped",
    state_working: "working",
    state_waiting_user: "waiting for you",
    state_completed: "completed",
    state_stopped: "stopped",
    without_pane: "in no known pane",
    failed_turn: "failed: {0}",
    interrupted: "interrupted",
    in_background: "{0} in background",
    no_prompt: "No prompt yet",
    no_folder: "unknown folder",
    seconds: "{0}s",
    minutes: "{0}m",
    hours: "{0}h",
    days: "{0}d",
    ago: "{0} ago",
    took: "took {0}",
    you: "You",
    older: "Show older turns ({0})",
    under_way: "Working on it…",
    waits_for: "Waiting for you: {0}; answer it in the terminal",
    waits_in_terminal: "Waiting for you; answer it in the terminal",
    no_answer: "The answer could not be read",
    gone: "This session is not known any more.",
    not_loaded: "This session could not be read: {0}",
    timeline: "{0} turns; {1} for {2}",
    focus: "Go to terminal",
    focused: "Done",
    command_live: "The terminal of this session is not known. To open it in another one, run this there; what is done in one, the other does not see.",
    open_elsewhere: "Codex has this thread open in a terminal that is not known. Go there, or close it there first.",
    command_stopped: "No terminal is known in which it could be opened. Run this in one:",
    copy: "Copy",
    copied: "Copied",
    copy_by_hand: "Selected: copy it with the keyboard",
    reply: "Reply",
    reply_placeholder: "Your reply becomes the next prompt of this session",
    send: "Send",
    send_keys: "Ctrl+Enter or ⌘+Enter",
    sending: "Sending…",
    not_sent: "Not sent: {0}. Your text is still here; send it again.",
    no_answer_from_daemon: "the daemon does not answer",
    from_slack: "from Slack",
    announce: "{0}: {1}",
    announce_reply: "Reply: {0}",
    reply_received: "Received",
    reply_queued: "Waiting: an earlier reply is still running",
    reply_held: "Waiting: the session is open in a terminal; it runs when that has been closed, or can take it",
    reply_behind_exec: "Waiting: a turn that takes no reply, such as one of `codex exec`, is running in this thread; it runs when that has ended",
    reply_after_abort: "Waiting: the last turn in the open Codex CLI was interrupted; it runs after the next prompt there, or when that CLI has been quit",
    reply_running: "Running",
    reply_done: "Done",
    reply_handed_over: "Handed over to the terminal in which it is open",
    reply_not_begun: "In Codex's queue, and not begun yet: it begins when the turn that runs there has ended; after an interruption, only after the next prompt that is typed there",
    reply_failed: "Failed: {0}",
    reply_stopped: "Stopped",
    reply_stop: "Taken as the order to stop",
    reply_interrupted: "Cut off: its process ended before its turn did. What it had done by then stays done. It is not run again; send it once more if it is needed.",
    reply_uncertain: "It could not be determined whether this reply was run. It is not run again, so that nothing happens twice; send it once more if it is needed.",
    reply_dropped: "Dropped",
    reply_refused: "This command would end or empty the session; use the terminal for it.",
    reply_no_route: "It belongs to no known session",
    reason_program_missing: "the program was not found",
    reason_not_started: "the program could not be started",
    reason_folder_missing: "the session's folder is gone",
    reason_session_invalid: "the session's id is not valid",
    reason_session_unknown: "the agent does not know this session any more",
    reason_too_long: "the reply is too long to be handed over",
    reason_command_refused: "this command cannot be run from here",
    reason_exit_code: "exit code {0}",
    reason_signal: "ended by signal {0}",
    reason_turn_failed: "the turn ended with an error",
    hooks_toggle: "Set up Claude hooks automatically",
    hooks_explained: "Registers Turnbridge's hooks in Claude Code's settings. Not needed with the plugin. Codex's rollouts are always watched.",
    hooks_apply: "Apply now",
    hooks_yes: "Registered",
    hooks_no: "Not registered",
    hooks_partly: "Registered in part, or for another Turnbridge; apply them again",
    hooks_in: "{0} ({1})",
    hooks_off: "`disableAllHooks` is set: Claude Code runs no hook.",
    config_older_stays: "The config file cannot be used. The one from before stays in force.",
    config_none: "The config file cannot be used, and none is in force.",
    listeners: "Slack: {0} machine(s) ({1}), {2} listener(s). Slack gives each reply to one of them, so this machine asks for its own every {3} s.",
    too_many_listeners: "Slack: the app has too many listeners (Slack allows 10). This machine has no connection and asks for its replies every {3} s. Machines: {0} ({1}).",
    looking: "Looking…",
    under_change: "Changing it…",
    failed: "Failed: {0}",
    hint: "What you can do: {0}",
  },
  ja: {
    sessions: "セッション",
    thread: "スレッド",
    filter: "絞り込み",
    settings: "設定",
    close: "閉じる",
    back: "セッション一覧に戻る",
    connecting: "接続中…",
    connected: "接続済み",
    lost: "再接続中…",
    refused: "未サインイン",
    sign_in_title: "ボードにサインイン",
    not_signed_in: "ターミナルに表示されたコードを入力してください。",
    signed_out: "デーモンが再起動されました。新しいコードでもう一度サインインしてください。",
    code: "ワンタイムコード",
    code_hint: "コードがない場合は、デーモンのマシンのターミナルで {0} を実行してください。",
    sign_in: "サインイン",
    code_wrong: "コードが違います。あと {0} 回入力できます。",
    code_wrong_once: "コードが違います。あと 1 回入力できます。",
    code_none: "入力待ちのコードがありません。使用済みか、時間切れです。新しいコードを表示してください。",
    code_void: "間違ったコードが続いたため無効になりました。新しいコードを表示してください。",
    lost_title: "デーモンが応答しません",
    lost_hint: "表示内容は古い可能性があります。デーモンが終了している場合は、ターミナルで {0} を実行し、続けて {1} を実行してください。ボードのアドレスは新しくなります。",
    none_refused: "サインインすると、セッションが表示されます。",
    none_lost: "デーモンが応答しないため、セッションを読み取れません。",
    code_lost: "デーモンが応答しません。起動してからもう一度お試しください。",
    none: "セッションはまだありません。`claude` または `codex` を起動すると、ここに表示されます。",
    none_match: "条件に合うセッションはありません。",
    choose: "セッションを選ぶと、内容を読んで返信できます。",
    keys: "j k：移動 · Enter：開く · r：返信 · /：絞り込み · Esc：戻る",
    group_waiting_user: "確認待ち",
    group_working: "実行中",
    group_completed: "完了",
    group_stopped: "停止",
    state_working: "実行中",
    state_waiting_user: "確認待ち",
    state_completed: "完了",
    state_stopped: "停止",
    without_pane: "ペイン不明",
    failed_turn: "エラー：{0}",
    interrupted: "中断",
    in_background: "バックグラウンド {0} 件",
    no_prompt: "プロンプトはまだありません",
    no_folder: "フォルダー不明",
    seconds: "{0} 秒",
    minutes: "{0} 分",
    hours: "{0} 時間",
    days: "{0} 日",
    ago: "{0}前",
    took: "所要 {0}",
    you: "あなた",
    older: "以前のターンを表示（{0} 件）",
    under_way: "実行中です…",
    waits_for: "確認待ち：{0}。ターミナルで回答してください",
    waits_in_terminal: "確認待ちです。ターミナルで回答してください",
    no_answer: "本文抽出エラー",
    gone: "このセッションは見つかりません。",
    not_loaded: "このセッションを読み取れませんでした：{0}",
    timeline: "{0} ターン、{1}（{2}）",
    focus: "ターミナルへ移動",
    focused: "完了しました",
    command_live: "このセッションのターミナルは特定できません。別のターミナルで開くには、次のコマンドを実行してください。一方での操作は、もう一方には表示されません。",
    open_elsewhere: "このスレッドは、特定できないターミナルの Codex で開かれています。そのターミナルで操作するか、先にそこで終了してください。",
    command_stopped: "開けるターミナルが見つかりません。ターミナルで次のコマンドを実行してください。",
    copy: "コピー",
    copied: "コピーしました",
    copy_by_hand: "選択しました。キーボードでコピーしてください",
    reply: "返信",
    reply_placeholder: "返信は、このセッションの次のプロンプトになります",
    send: "送信",
    send_keys: "Ctrl+Enter または ⌘+Enter",
    sending: "送信中…",
    not_sent: "送信できませんでした：{0}。入力内容は残っています。もう一度送信してください。",
    no_answer_from_daemon: "デーモンが応答しません",
    from_slack: "Slack から",
    announce: "{0}：{1}",
    announce_reply: "返信：{0}",
    reply_received: "受領しました",
    reply_queued: "待機中：前の返信を実行中です。終わり次第、この返信を実行します",
    reply_held: "待機中：このセッションはターミナルで開かれています。終了後、または入力できるようになり次第、この返信を実行します",
    reply_behind_exec: "待機中：このスレッドでは、返信を受け付けないターン（`codex exec` など）が実行中です。終わり次第、この返信を実行します",
    reply_after_abort: "待機中：ターミナルで開かれている Codex の最後のターンが中断されています。次のプロンプトの後、または Codex の終了後に、この返信を実行します",
    reply_running: "実行中",
    reply_done: "完了",
    reply_handed_over: "開いているターミナルのエージェントに渡しました",
    reply_not_begun: "Codex のキューに入りましたが、まだ開始されていません。実行中のターンが終わると開始されます（中断した場合は、次のプロンプトを入力するまで開始されません）",
    reply_failed: "失敗：{0}",
    reply_stopped: "停止しました",
    reply_stop: "停止の指示として受け取りました",
    reply_interrupted: "途中で終了しました（ターンが終わる前にプロセスが終了しました）。それまでに行われたことは残っています。再実行はしません。必要であればもう一度送信してください。",
    reply_uncertain: "この返信が実行されたかどうかを確認できませんでした。二重実行を避けるため、再実行しません。必要であればもう一度送信してください。",
    reply_dropped: "取り消しました",
    reply_refused: "このコマンドはセッションを終了または消去するため、ここからは実行できません。CLI で実行してください。",
    reply_no_route: "対応するセッションがありません",
    reason_program_missing: "プログラムが見つかりません",
    reason_not_started: "プログラムを起動できませんでした",
    reason_folder_missing: "セッションのフォルダーがありません",
    reason_session_invalid: "セッション ID が不正です",
    reason_session_unknown: "セッションが見つかりません",
    reason_too_long: "返信が長すぎます",
    reason_command_refused: "このコマンドはここからは実行できません",
    reason_exit_code: "終了コード {0}",
    reason_signal: "シグナル {0} で終了しました",
    reason_turn_failed: "ターンがエラーで終了しました",
    hooks_toggle: "Claude hooks 自動設定",
    hooks_explained: "Claude Code の設定に Turnbridge のフックを登録します。プラグインを使う場合は不要です。Codex の JSONL 監視は常に有効です。",
    hooks_apply: "今すぐ適用",
    hooks_yes: "登録済み",
    hooks_no: "未登録",
    hooks_partly: "一部のみ、または別の Turnbridge が登録されています。もう一度適用してください",
    hooks_in: "{0}（{1}）",
    hooks_off: "`disableAllHooks` が設定されているため、Claude Code はフックを実行しません。",
    config_older_stays: "設定ファイルに問題があるため、以前の設定のまま動作しています。",
    config_none: "設定ファイルに問題があるため、設定なしで動作しています。",
    listeners: "Slack：マシン {0} 台（{1}）、リスナー {2}。Slack は返信をそのうちの 1 つに渡すため、このマシンは自分宛ての返信を {3} 秒ごとに問い合わせます。",
    too_many_listeners: "Slack：アプリのリスナーが多すぎます（上限は 10）。このマシンは接続を持たず、返信を {3} 秒ごとに問い合わせます。マシン {0} 台（{1}）。",
    looking: "確認中…",
    under_change: "変更中…",
    failed: "失敗：{0}",
    hint: "対処方法：{0}",
  },
};

let language = navigator.language.startsWith("ja") ? "ja" : "en";

/** Sets the language. Returns whether it has changed. */
export function setLanguage(wanted) {
  if (!(wanted in TEXTS) || wanted === language) return false;
  language = wanted;
  return true;
}

export const currentLanguage = () => language;

export function text(key, ...values) {
  const found = TEXTS[language][key] ?? key;
  return found.replace(/\{(\d)\}/g, (_, index) => String(values[index] ?? ""));
}

/** Returns the text before and after the `{0}`, for a value that is an element. */
export const around = (key) => (TEXTS[language][key] ?? key).split("{0}");

/** Returns a text whose placeholders are filled with commands. */
export function withCommands(key, ...commands) {
  const parts = (TEXTS[language][key] ?? key).split(/\{(\d)\}/);
  return parts.map((part, index) => (index % 2 === 0 ? part : element("code", {}, commands[Number(part)])));
}

/** Returns a command with a button that copies it. */
export function copyable(command) {
  const code = element("code", { tabindex: "0" }, command);
  const button = element("button", { type: "button", class: "copy" }, text("copy"));
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command);
      button.textContent = text("copied");
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = text("copy_by_hand");
    }
  });
  return element("div", { class: "copyable" }, code, button);
}

export const hasText = (key) => key in TEXTS[language];

/** Formats a duration: `5s`, `3m`, `2h`, `1d`. */
export function span(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return text("seconds", seconds);
  if (seconds < 3600) return text("minutes", Math.floor(seconds / 60));
  if (seconds < 86400) return text("hours", Math.floor(seconds / 3600));
  return text("days", Math.floor(seconds / 86400));
}

/** Creates an element with attributes and children, or lists of them; a text always stays a text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  fill(made, children);
  return made;
}

/**
 * Appends children one by one, since an answer may have more nodes than a call allows arguments. Lists are flattened.
 */
export function fill(parent, children) {
  for (const child of children) {
    if (Array.isArray(child)) fill(parent, child);
    else if (child != null) parent.append(child);
  }
}

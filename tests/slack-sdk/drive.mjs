// Slack's own SDK against the loopback Slack of the tests: node drive.mjs BASE_URL BOT_TOKEN APP_TOKEN USER
// Says on stdout, as one JSON object, what the SDK made of the answers; the test judges it.
import { WebClient, WebClientEvent, WebAPIPlatformError } from "@slack/web-api";

setTimeout(() => {
  console.error("error: the SDK got no answer within 60 s");
  process.exit(3);
}, 60_000).unref();

const [slackApiUrl, botToken, appToken, user] = process.argv.slice(2);
const options = { slackApiUrl, logLevel: "error", retryConfig: { retries: 3, minTimeout: 20, maxTimeout: 40 } };
const client = new WebClient(botToken, options);
const seen = { rateLimited: [] };
client.on(WebClientEvent.RATE_LIMITED, (seconds) => seen.rateLimited.push(seconds));

const platformError = async (call) => {
  try {
    await call();
    return null;
  } catch (error) {
    return { isPlatformError: error instanceof WebAPIPlatformError, code: error.code, data: error.data };
  }
};

seen.auth = await client.auth.test();
seen.appAuth = await new WebClient(appToken, options).auth.test();
const opened = await client.conversations.open({ users: user });
const channel = opened.channel.id;
seen.channel = channel;

// 1: a parent.
const parent = await client.chat.postMessage({ channel, text: "parent", unfurl_links: false, unfurl_media: false });
seen.parent = parent;
// 2: a reply with all a message can carry.
seen.reply = await client.chat.postMessage({
  channel,
  thread_ts: parent.ts,
  text: "reply 0, é & <b>",
  blocks: [{ type: "markdown", text: "**reply** 0" }],
  metadata: { event_type: "part", event_payload: { id: "part-0" } },
});
// 3: the test lets this one hit the rate limit; the SDK waits and tries again.
await client.chat.postMessage({ channel, thread_ts: parent.ts, text: "reply 1" });
// 4: the test resets this one after it was done; the SDK cannot know and posts again.
await client.chat.postMessage({ channel, thread_ts: parent.ts, text: "reply 2" });
await client.chat.update({ channel, ts: seen.reply.ts, text: "reply 0, changed" });

seen.pages = [];
for await (const page of client.paginate("conversations.replies", {
  channel,
  ts: parent.ts,
  limit: 2,
  include_all_metadata: true,
})) {
  seen.pages.push(page.messages.map(({ text, metadata }) => [text, metadata?.event_payload?.id ?? null]));
}
seen.history = (await client.conversations.history({ channel })).messages.map(({ text, reply_count }) => [
  text,
  reply_count,
]);
seen.socket = (await new WebClient(appToken, options).apps.connections.open()).url;

const unfit = { channel, text: "x", blocks: [{ type: "mystery" }] };
seen.unfitBlocks = await platformError(() => client.chat.postMessage(unfit));
seen.wrongToken = await platformError(() => new WebClient("xoxb-wrong", options).auth.test());
seen.missingScope = await platformError(() => client.users.info({ user }));

console.log(JSON.stringify(seen));

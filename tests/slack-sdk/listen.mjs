// Slack's own Socket Mode client against the loopback Slack of the tests: node listen.mjs BASE_URL APP_TOKEN
// Acks the first message event, says on stdout, as one JSON object, what it saw, and leaves; the test judges it.
import { SocketModeClient } from "@slack/socket-mode";

setTimeout(() => {
  console.error("error: no message came within 60 s");
  process.exit(3);
}, 60_000).unref();

const [slackApiUrl, appToken] = process.argv.slice(2);
const client = new SocketModeClient({ appToken, logLevel: "error", clientOptions: { slackApiUrl } });
const states = [];
for (const state of ["connecting", "connected", "disconnected"]) client.on(state, () => states.push(state));

const message = new Promise((resolve) => {
  client.on("message", async ({ ack, body, event, retry_num: retry }) => {
    await ack();
    resolve({ eventId: body.event_id, appId: body.api_app_id, type: body.type, event, retry });
  });
});
const started = await client.start();
const seen = { url: started.url, ...(await message) };
await client.disconnect();
console.log(JSON.stringify({ ...seen, states }));
process.exit(0);

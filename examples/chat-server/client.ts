import { DefaultChatTransport, readUIMessageStream, type UIMessage } from "ai";
import { seeIt } from "../seeIt.ts";

/**
 * A client: `client.ts <port> ask` begins a chat and loses its connection at the first words; `client.ts <port> <directory>`
 * comes back and prints the whole answer. It uses what `useChat` uses in a browser.
 */
const [, , port = "", what = ""] = process.argv;
const chatId = "order-7";
const transport = new DefaultChatTransport({ api: `http://127.0.0.1:${port}/api/chat` });

async function ask(): Promise<void> {
  const message: UIMessage = { id: "u1", role: "user", parts: [{ type: "text", text: "Refund order 7." }] };
  const connection = new AbortController();
  const stream = await transport.sendMessages({
    trigger: "submit-message",
    chatId,
    messageId: undefined,
    messages: [message],
    abortSignal: connection.signal,
  });
  const reader = stream.getReader();
  for (;;) {
    const { value } = await reader.read();
    if (value?.type !== "text-delta") continue;
    console.log(value.delta.trim());
    break;
  }
  connection.abort();
}

async function comeBack(): Promise<void> {
  const stream = await transport.reconnectToStream({ chatId });
  if (!stream) return console.log("nothing is going on");
  let message: UIMessage | undefined;
  for await (const state of readUIMessageStream({ stream })) message = state;
  for (const part of message?.parts ?? []) {
    if (part.type === "text") console.log(part.text);
    if (part.type === "tool-look_up" || part.type === "tool-refund")
      console.log(`${part.type} ${part.state} ${JSON.stringify("output" in part ? part.output : undefined)}`);
  }
}

if (what === "ask") await ask();
else {
  await comeBack();
  console.error(seeIt(chatId, `file:${what}`));
}

import {
  parseJsonEventStream,
  readUIMessageStream,
  uiMessageChunkSchema,
  type UIMessage,
  type UIMessageChunk,
} from "ai";

/** What a server has sent to a client, piece by piece. */
export async function chunksOf(response: Response): Promise<readonly UIMessageChunk[]> {
  if (!response.body) throw new Error("The response has no body.");
  const chunks: UIMessageChunk[] = [];
  const parsed = parseJsonEventStream({ stream: response.body, schema: uiMessageChunkSchema });
  for await (const each of parsed) if (each.success) chunks.push(each.value);
  return chunks;
}

/** The message that a client makes of it. */
export async function messageOf(response: Response): Promise<UIMessage> {
  const chunks = await chunksOf(response);
  let message: UIMessage | undefined;
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  for await (const state of readUIMessageStream({ stream })) message = state;
  if (!message) throw new Error("The response has no message.");
  return message;
}

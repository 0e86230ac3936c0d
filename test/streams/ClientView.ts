import type { StreamChunk } from "agent-persistence/streams";

/** What a client shows: the text of each response, in the order of their first chunks. */
export class ClientView {
  /** The position before everything. */
  static readonly start = Buffer.from("[0,0,0,0,[]]").toString("base64url");
  readonly texts = new Map<string, string>();
  restarts = 0;
  chunks = 0;

  add(chunk: StreamChunk): void {
    this.chunks++;
    if (chunk.type === "restart") this.restarts++;
    if (chunk.type === "restart") this.texts.set(chunk.requestId, "");
    else this.texts.set(chunk.requestId, (this.texts.get(chunk.requestId) ?? "") + chunk.text);
  }
}

import { z } from "zod";
import type { RunDelta } from "../../agent/feature/RunRequest.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { fromBase64Url, fromUtf8, toBase64Url, utf8 } from "../../internal/bytes.ts";
import { parsedJson } from "../../internal/parsedJson.ts";
import type { StreamPlace } from "../store/StreamStore.ts";

export type TextKind = "text" | "reasoning";

/** The length and a digest of a text that a client has received. */
class ReceivedText {
  length = 0;
  #hash = 0x811c9dc5;

  static of(length: number, hash: number): ReceivedText {
    const text = new ReceivedText();
    text.length = length;
    if (length > 0) text.#hash = hash;
    return text;
  }

  add(text: string): void {
    for (let at = 0; at < text.length; at++) this.#hash = Math.imul(this.#hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
    this.length += text.length;
  }

  isStartOf(text: string): boolean {
    const start = new ReceivedText();
    start.add(text.slice(0, this.length));
    return start.length === this.length && start.#hash === this.#hash;
  }

  /** The hash of an empty text is 0 in a position, which keeps positions short. */
  get parts(): [length: number, hash: number] {
    return [this.length, this.length > 0 ? this.#hash : 0];
  }
}

/** The part of an incomplete response that a client has received. */
export interface ReceivedResponse extends Readonly<Record<TextKind, ReceivedText>>, ResponsePlace {}

type ResponsePlace = Pick<RunDelta, "nodeId" | "branch" | "agentPath">;

const count = z.number().int().min(0);
/** The id of a node, or 0 if a response has the node of the response before. */
const node = z.union([z.string(), z.literal(0)]);
/** The branch of a response. Empty if a response without a branch has a path. */
const branch = z.string().optional();
const agentPath = z.array(z.string()).optional();
const positionSchema = z.tuple([
  count,
  count,
  count,
  count,
  z.array(z.tuple([z.string(), node, count, count, count, count, branch, agentPath])).max(10_000),
]);

/**
 * The place of a client in the stream of an agent: an item of an append, the number of a chunk, and the responses of
 * which the client has received a part. A `position` is a cursor as text.
 */
export class StreamCursor {
  /** The position of an append in the log, and the number of its items that the client has received. */
  log: readonly [position: number, items: number] = [0, 0];
  chunk: StreamPlace = { writer: 0, number: 0 };
  /** By request id. */
  readonly open = new Map<string, ReceivedResponse>();

  /** @throws InvalidInputError if the text is not a position. */
  static parse(position: string): StreamCursor {
    const bytes = fromBase64Url(position);
    const parts = positionSchema.safeParse(bytes && parsedJson(fromUtf8(bytes)));
    if (!parts.success)
      throw new InvalidInputError("options of attach()", [
        { path: "after", expected: "expected the position of a chunk of this agent" },
      ]);
    const [append, items, writer, number, open] = parts.data;
    const cursor = new StreamCursor();
    cursor.log = [append, items];
    cursor.chunk = { writer, number };
    let nodeId = "";
    for (const [id, node, length, hash, reasoningLength, reasoningHash, branch, path] of open) {
      nodeId = node === 0 ? nodeId : node;
      const reasoning = ReceivedText.of(reasoningLength, reasoningHash);
      const place = { nodeId, ...(branch && { branch }), ...(path?.length && { agentPath: path }) };
      cursor.open.set(id, { ...place, text: ReceivedText.of(length, hash), reasoning });
    }
    return cursor;
  }

  get position(): string {
    let last: string | undefined;
    const open = [...this.open].map(([id, { nodeId, branch = "", agentPath, text, reasoning }]) => {
      const node = nodeId === last ? 0 : nodeId;
      last = nodeId;
      const place = agentPath ? [branch, agentPath] : branch === "" ? [] : [branch];
      return [id, node, ...text.parts, ...reasoning.parts, ...place];
    });
    const parts = JSON.stringify([...this.log, this.chunk.writer, this.chunk.number, open]);
    return toBase64Url(utf8(parts));
  }

  /** Returns the part of a response that the client has received. */
  received({ requestId, nodeId, branch, agentPath }: ResponsePlace & { readonly requestId: string }): ReceivedResponse {
    const known = this.open.get(requestId);
    if (known) return known;
    const place = { nodeId, ...(branch !== undefined && { branch }), ...(agentPath && { agentPath }) };
    const received = { ...place, text: new ReceivedText(), reasoning: new ReceivedText() };
    this.open.set(requestId, received);
    return received;
  }
}

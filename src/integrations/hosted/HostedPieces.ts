import { PollIntervals, readStore } from "../../streams/follow/attachStream.ts";
import type { StreamPlace, StreamStore } from "../../streams/store/StreamStore.ts";
import { type StreamWriter, parseChunk, type StoredChunk } from "../../streams/write/StreamWriter.ts";
import { pause } from "../../internal/abortable.ts";
import { systemClock } from "../../internal/Clock.ts";

/** A piece of a text in a response. */
export interface HostedPiece {
  readonly kind: "text" | "reasoning";
  readonly index: number;
  readonly text: string;
}

interface RequestOfRun {
  readonly runId: string;
  /** The number of the request. Requests inside tool calls are not counted. */
  readonly ordinal: number;
}

/** Stores the texts of a response while a model writes them. Each text has a separate request id in the stream. */
export class ResponsePieces {
  readonly #writer: StreamWriter;
  readonly #prefix: string;
  readonly #ids = new Set<string>();

  constructor(writer: StreamWriter, request: RequestOfRun) {
    this.#writer = writer;
    this.#prefix = prefixOf(request);
  }

  add({ kind, index, text }: HostedPiece): void {
    const requestId = `${this.#prefix}${index}`;
    this.#ids.add(requestId);
    this.#writer.add({ type: `${kind}-delta`, text, nodeId: "run", requestId });
  }

  /** Tells readers in other processes that the response was cut off. */
  discard(): void {
    for (const requestId of this.#ids) this.#writer.discard({ nodeId: "run", requestId });
  }

  /** Removes the pieces of a response once the log contains it. */
  remove(): Promise<void> {
    return this.#writer.remove([...this.#ids]);
  }
}

export interface PieceSource {
  readonly store: StreamStore;
  /** Returns the generation of the process that owns the agent, or 0 without one. */
  readonly owner: () => Promise<number>;
}

/** Reads the texts of a response that another process is receiving. */
export class HostedPieces {
  readonly #store: StreamStore;
  readonly #agentId: string;
  readonly #prefix: string;
  readonly #lengths = new Map<number, number>();
  readonly #owner: () => Promise<number>;
  readonly #polls = new PollIntervals(pollMs);
  #place: StreamPlace | undefined;

  /** @param source.owner - returns the current owner. Chunks of earlier owners are skipped. */
  constructor(source: PieceSource, agentId: string, request: RequestOfRun) {
    this.#store = source.store;
    this.#owner = source.owner;
    this.#agentId = agentId;
    this.#prefix = prefixOf(request);
  }

  /** Returns the pieces since the last call, after a short wait. `undefined` if the response was cut off. */
  async next(signal: AbortSignal): Promise<readonly HostedPiece[] | undefined> {
    let place = (this.#place ??= { writer: await this.#owner(), number: 0 });
    const entries = await readStore(this.#store, this.#agentId, place, { signal });
    const pieces: HostedPiece[] = [];
    for (const { writer, first, chunks } of entries) {
      if (writer > place.writer && this.#lengths.size > 0) return this.#void();
      for (const [index, text] of chunks.entries()) {
        const isSeen = writer === place.writer && first + index <= place.number;
        if (isSeen) continue;
        this.#place = place = { writer, number: first + index };
        const chunk = this.#chunkOf(text);
        if (chunk?.type === "restart") return this.#void();
        const piece = this.#pieceOf(chunk);
        if (piece) pieces.push(piece);
      }
    }
    const ms = this.#polls.next(pieces.length > 0);
    if (pieces.length === 0) await pause(systemClock, ms, signal);
    return pieces;
  }

  #void(): undefined {
    this.#lengths.clear();
    return undefined;
  }

  /** Returns `undefined` for a chunk of another response. */
  #chunkOf(text: string): StoredChunk | undefined {
    const chunk = parseChunk(text);
    return chunk?.requestId.startsWith(this.#prefix) ? chunk : undefined;
  }

  #pieceOf(chunk: StoredChunk | undefined): HostedPiece | undefined {
    if (!chunk || chunk.type === "restart") return undefined;
    const { requestId, at } = chunk;
    const index = Number(requestId.slice(this.#prefix.length));
    const length = this.#lengths.get(index) ?? 0;
    // If a chunk was lost, the record of the response contains the rest.
    if (at !== length) return undefined;
    this.#lengths.set(index, length + chunk.text.length);
    return { kind: chunk.type === "text-delta" ? "text" : "reasoning", index, text: chunk.text };
  }
}

/** The shortest interval of reads, in milliseconds. */
const pollMs = 50;

function prefixOf({ runId, ordinal }: RequestOfRun): string {
  return `${runId} ${ordinal} `;
}

import type { WaitingFor } from "../status/TaskStatus.ts";
import type { StoredValue } from "../values/valueCodec.ts";
import type { Visit } from "./Visit.ts";

/** A request for input from outside. Written each time a node waits. Earlier replies to the request become invalid. */
export interface RequestRecord {
  readonly kind: "request";
  readonly lane: number;
  readonly visit: Visit;
  readonly request: string;
  readonly node: string;
  /** The digest of the question. Earlier versions omit this field and count requests of all questions. */
  readonly question?: string;
  /** The id that the node gave the request. Without one, `ordinal` counts equal questions of the node or tool call. */
  readonly id?: string;
  readonly ordinal?: number;
  readonly within?: string;
  readonly around?: readonly string[];
  /** When the request was first made, in milliseconds since 1970. Earlier versions omit this field. */
  readonly at?: number;
  readonly approval?: {
    readonly call: string;
    readonly tool: string;
    readonly input: StoredValue;
  };
  readonly prompt: StoredValue;
  readonly schema: StoredValue;
  readonly waitingFor: WaitingFor;
  /** The name of the event that the node waits for. The answer is `{ event, payload }` with the number of the event. */
  readonly event?: string;
  /** The number of events received before, so that opening the log need not count them. Omitted by earlier versions. */
  readonly receipts?: number;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number;
  readonly problems?: readonly { readonly path: string; readonly expected: string }[];
}

export interface ReplyRecord {
  readonly kind: "reply";
  readonly lane: number;
  readonly request: string;
  readonly at: number;
  readonly answer?: StoredValue;
  readonly expired?: true;
  readonly rejected?: string;
  /** True if the answer does not approve a call. Earlier versions omit this field. */
  readonly refused?: true;
  /** The answering person, as stated by the caller and not verified. */
  readonly by?: string;
}

/** Returns whether a reply prevents a call, because it rejects the call, does not approve it, or has expired. */
export function isRefusal({ expired, rejected, refused, answer }: ReplyRecord): boolean {
  if (expired || rejected !== undefined || refused) return true;
  return (Object(answer) as { readonly approved?: unknown }).approved === false;
}

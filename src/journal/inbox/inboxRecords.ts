import type { StoredValue } from "../../checkpoint/values/valueCodec.ts";

/** An event that was sent to an agent. Its number is its index among the events of the inbox, from 0. */
export interface SentRecord {
  readonly kind: "event";
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly payload: StoredValue;
  readonly key?: string;
  /** The digest of name and payload. `undefined` without a key. */
  readonly digest?: string;
  /** Set if the event has redacted values. Omitted for readers with the vault. */
  readonly vault?: string;
  /**
   * The number of the event. Set only for an event that an append repeats. Defaults to the number of earlier events.
   */
  readonly number?: number;
}

/** Starts the part that an append repeats: the events that no request has received, and the last receipts. */
export interface PartRecord {
  readonly kind: "part";
  /** The number of all events. */
  readonly events: number;
  /** The number of receipts that this part does not contain. */
  readonly receipts: number;
  /** The number of the first receipt in this part. Earlier receipts are not in it. */
  readonly first: number;
  readonly seen: number;
}

export type InboxRecord =
  | SentRecord
  | PartRecord
  /** A request of the agent has received an event. */
  | { readonly kind: "take"; readonly request: string; readonly event: number }
  /** A rollback has reverted a request. Its event can be received again. */
  | { readonly kind: "give_back"; readonly request: string }
  /** A redo has restored a reverted request. The request gets its event back if no other request has received it. */
  | { readonly kind: "take_again"; readonly request: string }
  /**
   * The result of a check: the agent waited for none of the first `events` events, and the agent's log had the replies
   * of all receipts.
   */
  | { readonly kind: "seen"; readonly events: number };

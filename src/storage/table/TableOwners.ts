import { z } from "zod";
import type { Clock } from "../../internal/Clock.ts";
import { randomId } from "../../internal/randomId.ts";
import { hasEnded, incarnationOf, isSamePlace } from "../../node/incarnation.ts";
import type { ProcessIdentity } from "../../node/ProcessIdentity.ts";
import type { LogOwner, OwnerState } from "../RecordLog.ts";
import type { TableClaim, TableHead, TableSighting } from "./LogTable.ts";

/** An owner as the table keeps it. */
export interface StoredOwner extends LogOwner {
  /** One ownership: another one of the same owner has another. */
  readonly session: string;
  readonly leaseMs: number;
}

/** The longest lease: a day. */
export const longestLeaseMs = 86_400_000;

const storedOwner: z.ZodType<StoredOwner> = z.object({
  host: z.string(),
  processId: z.int(),
  nonce: z.string(),
  incarnation: z.string().optional(),
  session: z.string(),
  leaseMs: z.number().min(1),
}) as z.ZodType<StoredOwner>;

/** An owner that nobody can tell: its signs of life alone count, as they do for one on another machine. */
const unknownOwner: Omit<StoredOwner, "leaseMs"> = { host: "unknown", processId: 0, nonce: "unknown", session: "" };

/** What this process makes of an owner. */
export interface TableJudgement {
  readonly owner: StoredOwner;
  readonly state: OwnerState;
  /** Milliseconds after which an owner that does not renew will have been silent for a lease. */
  readonly retryAfterMs: number;
}

interface Surroundings {
  readonly clock: Clock;
  readonly leaseMs: number;
  /** Absent: nothing is known of processes, and leases decide. */
  readonly identity: ProcessIdentity | undefined;
  /** Whether all that share the table are on one machine. */
  readonly oneMachine: boolean;
}

/**
 * Owners in this process that ended without giving back their agent, because the storage failed under them. Their process
 * still runs, so other processes notice only their silence.
 */
const finished = new Set<string>();

/** Makes claims, and judges owners by their process and by their signs of life. */
export class TableOwners {
  readonly #surroundings: Surroundings;
  readonly #sightings = new Map<string, { readonly seen: string; readonly sinceMs: number }>();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** What a new owner writes. An owner of this process need not say what the system says of it. */
  claim(given: LogOwner): TableClaim & { readonly session: string } {
    const { identity, leaseMs } = this.#surroundings;
    const session = randomId();
    const own = identity?.processId === given.processId ? identity : undefined;
    const { host, processId, nonce, incarnation } = {
      ...given,
      ...(own && { host: own.host, incarnation: given.incarnation ?? incarnationOf(own) }),
    };
    const owner: StoredOwner = { host, processId, nonce, ...(incarnation && { incarnation }), session, leaseMs };
    return { owner: JSON.stringify(owner), beat: this.beat(0), session };
  }

  /** A sign of life: its number, and when it was given by the clock that all processes of this boot share. */
  beat(number: number): string {
    const atMs = this.#surroundings.identity?.sinceBootMs?.();
    return atMs === undefined ? String(number) : `${number} ${Math.floor(atMs)}`;
  }

  /** Says of an owner of this process that it has ended. */
  finish(session: string): void {
    finished.add(session);
  }

  /** Whether the owner of an agent is the one of this session. */
  isOf({ owner }: TableHead, session: string): boolean {
    return owner !== undefined && ownerOf(owner)?.session === session;
  }

  /** `undefined` for an agent without an owner. */
  judge(agentId: string, head: TableHead | undefined): TableJudgement | undefined {
    if (head?.owner === undefined) {
      this.#sightings.delete(agentId);
      return undefined;
    }
    const owner = ownerOf(head.owner) ?? { ...unknownOwner, leaseMs: this.#surroundings.leaseMs };
    const silentMs = this.#silentMs(agentId, head, owner);
    if (this.#isGone(owner)) return { owner, state: "gone", retryAfterMs: 0 };
    const retryAfterMs = Math.max(0, Math.min(owner.leaseMs, longestLeaseMs) - silentMs);
    return { owner, state: retryAfterMs > 0 ? "alive" : "silent", retryAfterMs };
  }

  #isGone(owner: StoredOwner): boolean {
    const { identity, oneMachine } = this.#surroundings;
    return finished.has(owner.session) || (identity !== undefined && hasEnded(owner, identity, !oneMachine));
  }

  /** How long the owner has given no sign of life, at least. */
  #silentMs(agentId: string, head: TableHead, owner: StoredOwner): number {
    const seen = this.#seenForMs(agentId, head);
    return head.idleMs ?? Math.max(seen, this.#idleMs(head, owner));
  }

  #seenForMs(agentId: string, { generation, beat }: TableSighting): number {
    const now = this.#surroundings.clock.monotonic();
    const seen = `${generation} ${beat}`;
    const known = this.#sightings.get(agentId);
    if (known?.seen === seen) return now - known.sinceMs;
    this.#sightings.set(agentId, { seen, sinceMs: now });
    return 0;
  }

  #idleMs({ beat }: TableSighting, { incarnation }: StoredOwner): number {
    const { identity } = this.#surroundings;
    const now = identity && isSamePlace(incarnation, identity) ? identity.sinceBootMs?.() : undefined;
    const given = Number(beat.split(" ")[1]);
    return now === undefined || Number.isNaN(given) ? 0 : Math.max(0, now - given);
  }
}

/** `undefined` for a text that is no owner, as where it was altered. */
function ownerOf(text: string): StoredOwner | undefined {
  const parsed = storedOwner.safeParse(parsedJson(text));
  return parsed.success ? parsed.data : undefined;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

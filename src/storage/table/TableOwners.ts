import { z } from "zod";
import type { Clock } from "../../internal/Clock.ts";
import { hasEnded, incarnationOf, isSamePlace, type ProcessIdentity } from "../../nodejs/ProcessIdentity.ts";
import type { LogOwner, OwnerState } from "../RecordLog.ts";
import type { TableClaim, TableHead, TableSighting } from "./LogTable.ts";
import { addFinished, longestLeaseMs, Sightings } from "../lease/Sightings.ts";
import { parsedJson } from "../../internal/parsedJson.ts";

export interface StoredOwner extends LogOwner {
  /** Identifies one ownership. The value changes each time the same owner takes a log. */
  readonly session: string;
  readonly leaseMs: number;
}

const storedOwner: z.ZodType<StoredOwner> = z.object({
  host: z.string(),
  processId: z.int(),
  nonce: z.string(),
  incarnation: z.string().optional(),
  session: z.string(),
  leaseMs: z.number().min(1),
}) as z.ZodType<StoredOwner>;

/**
 * Stands for an owner that cannot be read. Only its renewals show whether it is alive, as for an owner on another
 * machine.
 */
const unknownOwner: Omit<StoredOwner, "leaseMs"> = { host: "unknown", processId: 0, nonce: "unknown", session: "" };

export interface TableJudgement {
  readonly owner: StoredOwner;
  readonly state: OwnerState;
  /** The delay in milliseconds until an owner that does not renew counts as silent. */
  readonly retryAfterMs: number;
}

interface Surroundings {
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly identity: ProcessIdentity | undefined;
  readonly oneMachine: boolean;
}

/**
 * Owners that were not released because the storage failed. This process still runs, so other processes notice only
 * that these owners are silent.
 */
const finished = new Set<string>();

/** Creates claims and determines whether owners are alive, based on their processes and renewals. */
export class TableOwners {
  readonly #surroundings: Surroundings;
  readonly #sightings = new Sightings();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** Returns the data of a new owner. An owner in this process may omit its process identity. */
  claim(given: LogOwner): TableClaim & { readonly session: string } {
    const { identity, leaseMs } = this.#surroundings;
    const session = crypto.randomUUID();
    const own = identity?.processId === given.processId ? identity : undefined;
    const { host, processId, nonce, incarnation } = {
      ...given,
      ...(own && { host: own.host, incarnation: given.incarnation ?? incarnationOf(own) }),
    };
    const owner: StoredOwner = { host, processId, nonce, ...(incarnation && { incarnation }), session, leaseMs };
    return { owner: JSON.stringify(owner), beat: this.beat(0), session };
  }

  /**
   * Returns the value of a renewal: the number of the renewal, and the time of the clock that all processes of this
   * boot share.
   */
  beat(number: number): string {
    const atMs = this.#surroundings.identity?.sinceBootMs?.();
    return atMs === undefined ? String(number) : `${number} ${Math.floor(atMs)}`;
  }

  finish(session: string): void {
    addFinished(finished, session);
  }

  isOf({ owner }: TableHead, session: string): boolean {
    return owner !== undefined && ownerOf(owner)?.session === session;
  }

  judge(agentId: string, head: TableHead | undefined): TableJudgement | undefined {
    if (head?.owner === undefined) {
      this.#sightings.forget(agentId);
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

  #silentMs(agentId: string, head: TableHead, owner: StoredOwner): number {
    return Math.max(head.idleMs ?? 0, this.#seenForMs(agentId, head), this.#idleMs(head, owner));
  }

  #seenForMs(agentId: string, { generation, beat }: TableSighting): number {
    const now = this.#surroundings.clock.monotonic();
    return this.#sightings.unchangedForMs(agentId, `${generation} ${beat}`, now) ?? 0;
  }

  #idleMs({ beat }: TableSighting, { incarnation }: StoredOwner): number {
    const { identity } = this.#surroundings;
    const now = identity && isSamePlace(incarnation, identity) ? identity.sinceBootMs?.() : undefined;
    const given = Number(beat.split(" ")[1]);
    return now === undefined || Number.isNaN(given) ? 0 : Math.max(0, now - given);
  }
}

/** Returns `undefined` for a text that is not an owner, for example after an external change. */
function ownerOf(text: string): StoredOwner | undefined {
  const parsed = storedOwner.safeParse(parsedJson(text));
  return parsed.success ? parsed.data : undefined;
}

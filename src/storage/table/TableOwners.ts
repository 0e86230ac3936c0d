import { z } from "zod";
import type { Clock } from "../../internal/Clock.ts";
import { hasEnded, incarnationOf, isSamePlace, type ProcessIdentity } from "../../nodejs/ProcessIdentity.ts";
import type { LogOwner, OwnerState } from "../RecordLog.ts";
import type { TableClaim, TableHead, TableSighting } from "./LogTable.ts";
import { addFinished, longestLeaseMs, Sightings } from "../lease/Sightings.ts";
import { parsedJson } from "../../internal/parsedJson.ts";

export interface StoredOwner extends LogOwner {
  /** A random id of the claim. Each claim of an owner has a different id. */
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

/** Replaces an owner whose stored text cannot be read. Only renewals show whether this owner is alive. */
const unknownOwner: Omit<StoredOwner, "leaseMs"> = { host: "unknown", processId: 0, nonce: "unknown", session: "" };

export interface TableJudgement {
  readonly owner: StoredOwner;
  readonly state: OwnerState;
  /** Milliseconds until the owner counts as silent if it does not renew its lease. */
  readonly retryAfterMs: number;
}

interface Surroundings {
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly identity: ProcessIdentity | undefined;
  readonly oneMachine: boolean;
}

/** The sessions of owners that this process could not release. Only this process knows that these owners are gone. */
const finished = new Set<string>();

/** Creates claims and determines whether owners are alive, based on their processes and renewals. */
export class TableOwners {
  readonly #surroundings: Surroundings;
  readonly #sightings = new Sightings();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** Returns the data of a new owner. Adds the identity of this process if this process is the owner. */
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

  /** Returns the text of a renewal: its number and, if known, the milliseconds since the machine was started. */
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

import { createHash } from "node:crypto";
import {
  type CheckpointTrigger,
  RequestNotOpenError,
  RequestRejectedError,
  RollbackToolRegistry,
  storageKey,
  tool,
  ToolRejectedError,
  type ToolCallInDoubt,
  type ToolCallSettlement,
} from "agent-persistence";
import { SimulatedClock } from "agent-persistence/testing";
import { z } from "zod";
import { World } from "../../support/World.ts";
import type { RandomLines } from "./randomLines.ts";

export const count = storageKey("count", z.number());

export const digest = (...values: readonly unknown[]): string =>
  createHash("sha1").update(JSON.stringify(values)).digest("hex").slice(0, 6);

/** What becomes of a request: always the same of the same. */
export function fateOf(prompt: string): "answered" | "expired" | "rejected" {
  const decided = digest(prompt);
  if (decided < "4") return "rejected";
  return decided < "6" ? "expired" : "answered";
}
export const answerTo = (prompt: string): string => `yes to ${prompt}`;

const hour = 3_600_000;

/** What a lane has in the log: the version that its next visit is counted from. */
export interface StoredLane {
  readonly base: number;
  readonly ended: boolean;
}

/** What the running process found in the log: what need not happen again. */
export interface Found {
  readonly lanes: ReadonlyMap<number, StoredLane>;
  /** The calls that have an output. */
  readonly ended: ReadonlySet<string>;
}

/** The world around a random strategy; it outlives the processes. */
export class LinesWorld extends World {
  readonly lines: RandomLines;
  /** What was not as it has to be. */
  readonly problems: string[] = [];
  /** The requests whose answers were taken. */
  readonly accepted: string[] = [];
  readonly #disturbed: boolean;
  readonly #once = new Set<string>();
  readonly #itemOf = new Map<string, string>();
  #processes = 0;
  /** How often the run may still go back. */
  moves: number;
  /** Where files are written. Absent: none are. */
  folder: string | undefined;
  /** Told at each step of any line. */
  onStep: () => void = () => undefined;
  readonly hasEmptyList: boolean;
  found: Found = { lanes: new Map(), ended: new Set() };
  /** Of the running process. */
  clock = new SimulatedClock();
  readonly book;
  readonly pay;
  /** What it did cannot be found out by doing it again. */
  readonly ship;
  readonly registry = new RollbackToolRegistry();

  constructor(lines: RandomLines, disturbed = true) {
    super();
    this.lines = lines;
    this.#disturbed = disturbed;
    this.moves = lines.moves;
    this.hasEmptyList = JSON.stringify(lines).includes('"items":0');
    this.book = this.adder("book", "idempotent");
    this.ship = this.adder("ship", "irreversible");
    this.pay = tool({
      name: "pay",
      description: "",
      inputSchema: z.object({ item: z.string() }),
      effect: "idempotent",
      needsApproval: ({ item }) => this.question(`Pay ${item}?`),
      execute: ({ item }, options) => this.add(item, options, "pay"),
    });
    for (const each of [this.book, this.pay, this.ship])
      this.registry.registerRollback(each, ({ item }, { toolCallId }) => this.remove(toolCallId, item), {
        effect: "idempotent",
      });
  }

  override add(...[item, options, name]: Parameters<World["add"]>): { readonly made: string } {
    const { toolCallId } = options;
    const known = this.#itemOf.get(toolCallId);
    if (known !== undefined && known !== item) this.problems.push(`one id for "${known}" and "${item}"`);
    if (this.found.ended.has(toolCallId)) this.problems.push(`"${item}" has an output and is made again`);
    if (name === "ship" && this.effects.has(toolCallId)) this.problems.push(`"${item}" is made twice`);
    if (this.undone.includes(toolCallId)) this.problems.push(`"${item}" was reverted and is made again under its id`);
    this.#itemOf.set(toolCallId, item);
    this.onStep();
    return super.add(item, options, name);
  }

  /** What somebody says of a call in doubt: what really happened. */
  settle({ toolCallId, reverts, input }: ToolCallInDoubt): ToolCallSettlement {
    if (reverts !== undefined) this.problems.push(`the inverse of ${reverts} is in doubt`);
    return this.effects.has(toolCallId) ? { output: { made: (input as { readonly item: string }).item } } : "retry";
  }

  /** A prompt with the time at which it expires, if nobody is going to answer it. */
  question(prompt: string): { readonly prompt: string; readonly expiresAt?: Date } {
    const expires = fateOf(prompt) === "expired";
    return { prompt, ...(expires && { expiresAt: new Date(this.clock.now() + hour / 2) }) };
  }

  /** Time passes, and what nobody has answered expires. */
  letExpire(): void {
    this.clock.advance(hour);
  }

  /** The next process begins, some time after the one before. */
  beginProcess(found: Found): void {
    this.#processes++;
    this.found = found;
    this.clock = new SimulatedClock(this.clock.now() + hour);
  }

  /** Due after every node in one process, and after none in another. */
  get moody(): CheckpointTrigger {
    const { moods } = this.lines;
    const isDue = moods[this.#processes % moods.length] ?? false;
    return { name: "moody", priority: "normal", isDue: ({ kind }) => isDue && kind === "node_completed" };
  }

  /** Whether a disturbance is due, which comes once. */
  isFirst(what: string): boolean {
    if (!this.#disturbed || this.#once.has(what)) return false;
    this.#once.add(what);
    return true;
  }
}

/** What a request, or a call that asks, comes to for the node. */
export function unanswered(error: unknown): "expired" | "rejected" {
  if (error instanceof ToolRejectedError || error instanceof RequestRejectedError) return "rejected";
  if (error instanceof RequestNotOpenError && error.code === "request_expired") return "expired";
  throw error;
}

export function ancestorsIn(error: unknown): readonly string[] {
  const { code, available } = error as { readonly code?: string; readonly available?: readonly string[] };
  if (code === "checkpoint_not_found") return [];
  if (code !== "not_an_ancestor") throw error;
  return available ?? [];
}

/** A value without what differs from one life to another: the ids of calls and when an approval expired. */
export function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value === "string") return value.replace(/(?<=nobody approved it before )\S+Z/, "then");
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => key !== "providerToolCallId" && key !== "toolCallId");
  return Object.fromEntries(entries.map(([key, item]) => [key, comparable(item)]));
}

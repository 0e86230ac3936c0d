import type { ToolEffect } from "../agent/tool/Tool.ts";
import type { OutcomeRecord } from "../checkpoint/records/callRecords.ts";
import type { ValueWriter } from "../checkpoint/format/ValueWriter.ts";
import { InvalidInputError } from "../errors/agent/InvalidInputError.ts";
import { customSchema } from "../internal/options/optionSchemas.ts";
import type { z } from "zod";

/** A tool call that began and whose end is not recorded: it may have had its effect. */
export interface ToolCallInDoubt {
  readonly agentId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  /** The node that made the call. */
  readonly nodeId: string;
  /** As the tool declared it when the call began. */
  readonly effect: ToolEffect;
  /** As the model or the caller wrote it. */
  readonly input: unknown;
  /** Why the recorded input cannot be read; it is `undefined` then. Absent: it was read. */
  readonly unreadable?: unknown;
  /** For an inverse that began and did not end: the call that it reverts. Absent: it is not an inverse. */
  readonly reverts?: string;
  /** The settlement so far, if it leaves the call in doubt. Absent: none. */
  readonly settled?: "retry" | "unknown";
}

/**
 * Who decides about a call in doubt. `"ask"`: a person does, and the run stops until then. `"retry"`: every such call is
 * made again under its id. A function decides call by call; if it throws, the run stops and the call stays in doubt.
 */
export type OnToolCallInDoubt =
  | "ask"
  | "retry"
  | ((call: ToolCallInDoubt) => ToolCallSettlement | PromiseLike<ToolCallSettlement>);

/** The schema of {@link OnToolCallInDoubt}. */
export const onToolCallInDoubtSchema: z.ZodType<OnToolCallInDoubt> = customSchema(
  '"ask", "retry" or a function',
  (value) => value === "ask" || value === "retry" || typeof value === "function",
);

/**
 * How a tool call in doubt is resolved. `"retry"`: it is made again under its id. `{ output }`: it had its effect and
 * returned this. `{ error }`: it failed without effect, with this message. `"unknown"`: the run continues without knowing;
 * the model gets a result that says so, and node code gets ToolOutcomeUnknownError.
 */
export type ToolCallSettlement = "retry" | "unknown" | { readonly output: unknown } | { readonly error: string };

/** @throws InvalidInputError */
export function checkSettlement(given: unknown, toolCallId: string): ToolCallSettlement {
  if (given === "retry" || given === "unknown") return given;
  if (typeof given === "object" && given !== null) {
    const { error } = given as { readonly error?: unknown };
    if ("output" in given && !("error" in given)) return { output: given.output };
    if (typeof error === "string" && !("output" in given)) return { error };
  }
  throw new InvalidInputError(`settlement of tool call ${toolCallId}`, [
    { path: "", expected: `{ output }, { error: "…" }, "retry" or "unknown", found ${describe(given)}` },
  ]);
}

/** The outcome that a settlement records. */
export function settledOutcome(
  settlement: ToolCallSettlement,
  settled: OutcomeRecord["settled"] & string,
  tool: string,
  writer: ValueWriter,
): Partial<OutcomeRecord> {
  if (settlement === "retry") return { retry: true, settled };
  if (settlement === "unknown") return { unknown: true, settled };
  if ("error" in settlement) return { error: { message: settlement.error }, settled };
  return { output: writer.value(settlement.output, `the settled output of "${tool}"`), settled };
}

function describe(given: unknown): string {
  return typeof given === "object" && given !== null
    ? `an object with ${Object.keys(given).join(", ") || "nothing in it"}`
    : String(given);
}

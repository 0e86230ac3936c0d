import type { ToolEffect } from "../agent/tool/Tool.ts";
import { InvalidInputError } from "../errors/agentErrors.ts";
import { customSchema } from "../internal/options/optionSchemas.ts";
import type { z } from "zod";

/** A tool call that started but has no recorded outcome. It is unknown whether the call took effect. */
export interface ToolCallInDoubt {
  readonly agentId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly nodeId: string;
  /** The effect that the tool declared when the call started. */
  readonly effect: ToolEffect;
  /** The input before validation, as the model or the caller wrote it. */
  readonly input: unknown;
  /** Why the recorded input is unreadable. If set, `input` is `undefined`. */
  readonly unreadable?: unknown;
  /** For an inverse in doubt, the id of the call that it reverts. */
  readonly reverts?: string;
  /** An earlier settlement, after which the call is in doubt again. */
  readonly settled?: "retry" | "unknown";
}

/**
 * What to do with a call in doubt. `"ask"`: the run stops until a person decides. `"retry"`: all calls in doubt are
 * repeated under their ids. A function decides for each call. If it throws, the run stops and the call stays in doubt.
 */
export type OnToolCallInDoubt =
  | "ask"
  | "retry"
  | ((call: ToolCallInDoubt) => ToolCallSettlement | PromiseLike<ToolCallSettlement>);

export const onToolCallInDoubtSchema: z.ZodType<OnToolCallInDoubt> = customSchema(
  '"ask", "retry" or a function',
  (value) => value === "ask" || value === "retry" || typeof value === "function",
);

/**
 * The resolution of a tool call in doubt. `"retry"`: the call is repeated under its id. `{ output }`: the call took
 * effect and returned this output. `{ error }`: the call failed without effect, with this message. `"unknown"`: the run
 * continues without an outcome. The model gets a result that says so, and node code gets ToolOutcomeUnknownError.
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

function describe(given: unknown): string {
  return typeof given === "object" && given !== null
    ? `an object with ${Object.keys(given).join(", ") || "nothing in it"}`
    : String(given);
}

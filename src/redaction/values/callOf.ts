import { toolOf } from "../../internal/redactedPath.ts";

/** An object that represents a call, or a part of one. */
export interface CallShape {
  readonly tool: string;
  /** The sides of the call in its fields. */
  readonly sides: ReadonlyMap<string, CallSide>;
}

type CallSide = "input" | "output";

type Fields = Readonly<Record<string, unknown>>;

const ownSides: CallShape["sides"] = new Map([
  ["input", "input"],
  ["output", "output"],
]);

/** The fields of calls and results in messages and items of LangChain, OpenAI and Anthropic. */
const inputSides: CallShape["sides"] = new Map([
  ["args", "input"],
  ["arguments", "input"],
  ["input", "input"],
]);
const outputSides: CallShape["sides"] = new Map([
  ["output", "output"],
  ["content", "output"],
  ["artifact", "output"],
]);

/**
 * Returns the call of an object, or `undefined` if it represents none.
 *
 * @param toolOfCall - returns the tool of a known call, because a result can lack it.
 */
export function callOf(value: object, toolOfCall: (callId: unknown) => string | undefined): CallShape | undefined {
  const own = toolOf(value);
  if (own !== undefined) return { tool: own, sides: ownSides };
  const { name } = value as Fields;
  const sides = sidesOf(value);
  const tool = typeof name === "string" ? name : sides && toolOfCall(foreignCallId(value));
  return sides && tool !== undefined ? { tool, sides } : undefined;
}

/** Returns the id and the tool of a call of another runtime, as far as the object has them. */
export function foreignCall(value: object): readonly [callId: unknown, tool: unknown] {
  return sidesOf(value) ? [foreignCallId(value), (value as Fields)["name"]] : [undefined, undefined];
}

function sidesOf(value: object): CallShape["sides"] | undefined {
  const { type } = value as Fields;
  if ("args" in value || "arguments" in value || type === "tool_use") return inputSides;
  const isResult = "tool_call_id" in value || "tool_use_id" in value || "callId" in value || "call_id" in value;
  return isResult ? outputSides : undefined;
}

function foreignCallId(value: object): unknown {
  const { tool_call_id: a, tool_use_id: b, callId, call_id: c, id } = value as Fields;
  return a ?? b ?? callId ?? c ?? id;
}

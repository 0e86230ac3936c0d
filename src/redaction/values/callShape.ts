import { toolOf } from "../../internal/options/redactedPath.ts";

/** An object that represents a tool call, or a part of one. */
export interface CallShape {
  /** The name of the tool. `undefined` if unknown. */
  readonly tool: string | undefined;
  /** Maps each field of the object to the part of the call that it contains. */
  readonly sides: ReadonlyMap<string, CallSide>;
}

type CallSide = "input" | "output";

type Fields = Readonly<Record<string, unknown>>;

/** The fields of calls in messages of the AI SDK, LangChain, OpenAI and Anthropic. */
const callSides: CallShape["sides"] = new Map([
  ["args", "input"],
  ["arguments", "input"],
  ["input", "input"],
  ["rawInput", "input"],
  ["output", "output"],
  ["result", "output"],
]);
const resultSides: CallShape["sides"] = new Map([
  ["output", "output"],
  ["content", "output"],
  ["artifact", "output"],
]);

/** Matches types of calls, such as `tool_use`, `mcp_call` and `hosted_tool_call`. */
const callType = /_call$|tool_use$/;
/** Matches the type of a call in a UI message of the AI SDK. */
const partType = /^tool-(.+)$/s;

/** Returns the call that an object represents, if any. `toolOfCall` finds the tool of a result without a tool. */
export function callShape(value: object, toolOfCall: (callId: unknown) => string | undefined): CallShape | undefined {
  const own = toolOf(value) ?? toolOfPart(value);
  if (own !== undefined) return { tool: own, sides: callSides };
  const { name } = value as Fields;
  const sides = sidesOf(value);
  if (!sides) return undefined;
  if (typeof name === "string") return { tool: name, sides };
  const callId = foreignCallId(value);
  const isCall = sides === resultSides || hasCallType(value);
  return isCall ? { tool: toolOfCall(callId), sides } : undefined;
}

/** Returns the call id and the tool in an object of another runtime. Each is `undefined` if missing. */
export function foreignCall(value: object): readonly [callId: unknown, tool: unknown] {
  const { id, function: called, toolCallId, name } = value as Fields;
  if (typeof called === "object" && called !== null) return [id, (called as Fields)["name"]];
  const part = toolOfPart(value);
  if (part !== undefined) return [toolCallId, part];
  return sidesOf(value) ? [foreignCallId(value), name] : [undefined, undefined];
}

function sidesOf(value: object): CallShape["sides"] | undefined {
  if ("args" in value || "arguments" in value || hasCallType(value)) return callSides;
  const isResult = "tool_call_id" in value || "tool_use_id" in value || "callId" in value || "call_id" in value;
  return isResult ? resultSides : undefined;
}

function hasCallType(value: object): boolean {
  const { type } = value as Fields;
  return typeof type === "string" && callType.test(type);
}

function toolOfPart(value: object): string | undefined {
  const { type } = value as Fields;
  return typeof type === "string" && "toolCallId" in value ? partType.exec(type)?.[1] : undefined;
}

function foreignCallId(value: object): unknown {
  const { tool_call_id: a, tool_use_id: b, callId, call_id: c, id } = value as Fields;
  return a ?? b ?? callId ?? c ?? id;
}

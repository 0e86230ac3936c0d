import { isRepeatable } from "../../agent/tool/recordedCall.ts";
import type { ToolCallOptions, ToolEffect } from "../../agent/tool/Tool.ts";
import { ToolOutcomeUnknownError } from "../../errors/toolCallErrors.ts";
import type { McpClient, McpToolResult } from "./McpClient.ts";

/** The key of `_meta` that carries the id of the call. A server can use it as an idempotency key. */
const toolCallIdKey = "agent-persistence/toolCallId";

/** The agent enforces the time limit. This is the longest time that JavaScript timers accept. */
const noTimeoutMs = 2 ** 31 - 1;

export interface McpCall {
  readonly client: McpClient;
  /** The name on the server. */
  readonly name: string;
  /** The name that the model uses. */
  readonly toolName: string;
  readonly effect: ToolEffect;
}

/**
 * Calls a tool of an MCP server.
 *
 * @throws ToolOutcomeUnknownError if the call may have taken effect and the server did not report an outcome.
 */
export async function callMcpTool(call: McpCall, input: unknown, options: ToolCallOptions): Promise<unknown> {
  const { toolCallId, abortSignal } = options;
  let result: McpToolResult;
  try {
    result = await request(call, input, options);
  } catch (error) {
    if (abortSignal.aborted || isRepeatable(call.effect) || isWithoutEffect(error)) throw error;
    throw new ToolOutcomeUnknownError(call.toolName, toolCallId);
  }
  if (result.isError) throw new Error(textOf(result) ?? "The server reported an error without a text.");
  return outputOf(result);
}

async function request(
  { client, name }: McpCall,
  input: unknown,
  { toolCallId, abortSignal }: ToolCallOptions,
): Promise<McpToolResult> {
  const params = { name, arguments: input as Record<string, unknown>, _meta: { [toolCallIdKey]: toolCallId } };
  const options = { signal: abortSignal, timeout: noTimeoutMs };
  // Version 1 takes a result schema before the options. That parameter has a default, so `length` does not count it.
  const rest = client.callTool.length < 2 ? [undefined, options] : [options];
  return client.callTool(params, ...(rest as never[]));
}

/** Texts of errors that the client throws after a response whose content does not match the tool's output schema. */
const textsAfterAnswer: readonly string[] = [
  "has an output schema but did not return structured content",
  "Structured content does not match the tool's output schema",
  "Failed to validate structured content",
];
/** Codes of errors without a response of the server. Version 1 uses them for a closed connection and a timeout. */
const codesWithoutAnswer: readonly unknown[] = [-32_000, -32_001];
/** Error codes of version 2 for failures before the request is sent. */
const codesBeforeRequest: readonly unknown[] = ["NOT_CONNECTED", "CAPABILITY_NOT_SUPPORTED"];
/** HTTP statuses by which a server refuses a request without processing it. Version 1 uses them as error codes. */
const refusingStatuses: readonly unknown[] = [400, 401, 403, 404, 405, 406, 411, 413, 415, 429];
/** The first of the error codes that JSON-RPC reserves, for an error that a server reports. */
const firstRpcCode = -32_768;
const lastRpcCode = -32_000;

/** Returns whether the server answered with an error, or the request was not sent. */
function isWithoutEffect(error: unknown): boolean {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  if (typeof code !== "number")
    return codesBeforeRequest.includes(code) || (code === undefined && message === "Not connected");
  if (refusingStatuses.includes(code)) return true;
  if (textsAfterAnswer.some((text) => String(message).includes(text))) return false;
  return code >= firstRpcCode && code <= lastRpcCode && !codesWithoutAnswer.includes(code);
}

/**
 * Returns the structured content. Without it, returns the text if the result contains only text, and all content
 * otherwise.
 */
function outputOf(result: McpToolResult): unknown {
  return result.structuredContent ?? textOf(result) ?? result.content ?? [];
}

function textOf({ content = [] }: McpToolResult): string | undefined {
  const texts = content.map((part) => (part.type === "text" ? (part as { readonly text?: unknown }).text : undefined));
  return texts.length > 0 && texts.every((text) => typeof text === "string") ? texts.join("\n") : undefined;
}

import { z } from "zod";
import { lateFailures } from "../../agent/tool/callTimeout.ts";
import { isRepeatable } from "../../agent/tool/recordedCall.ts";
import {
  type AnyTool,
  tool,
  type Tool,
  type ToolEffect,
  type ToolCallOptions,
  toolSettings,
} from "../../agent/tool/Tool.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { quoted, quotedList } from "../../errors/AgentPersistenceError.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { ToolFailedError, ToolOutcomeUnknownError } from "../../errors/toolCallErrors.ts";

/** The input of a tool of an MCP server. The server checks the input. */
export type McpToolInput = Record<string, unknown>;

/** Settings of one tool of an MCP server. The settings replace the annotations of the server. */
export interface McpToolSettings extends Partial<
  Pick<
    Tool<McpToolInput, unknown>,
    "effect" | "dangerous" | "externalApi" | "modifiesFiles" | "timeoutMs" | "needsApproval" | "probe"
  >
> {
  /** The name for the model. By default, the server's name with `prefix`, and with `_` for unsupported characters. */
  readonly name?: string;
}

/** Options of {@link mcpTools}. */
export interface McpToolsOptions {
  /** The prefix of each tool name, such as `github_`, if servers have equal names. Defaults to an empty prefix. */
  readonly prefix?: string | undefined;
  /** Settings by the tool's name on the server. */
  readonly tools?: { readonly [name: string]: McpToolSettings } | undefined;
}

const clientSchema = objectWithMethods<McpClient>("listTools", "callTool");
const optionsSchema = strictOptions(() => ({
  prefix: z.string().optional(),
  tools: z
    .record(
      z.string(),
      strictOptions(() => ({ name: z.string().optional(), ...toolSettings })),
    )
    .optional(),
}));
const listedSchema = z.object({
  tools: z.array(
    z.looseObject({
      name: z.string(),
      description: z.string().optional(),
      inputSchema: z.looseObject({}),
      annotations: z
        .looseObject({
          readOnlyHint: z.boolean().optional(),
          destructiveHint: z.boolean().optional(),
          idempotentHint: z.boolean().optional(),
        })
        .optional(),
    }),
  ),
  nextCursor: z.string().optional(),
});

/** The maximum number of pages in a list of tools. Only a server that never ends its list has more. */
const mostPages = 1000;

/**
 * Returns the tools of a server of the Model Context Protocol as durable tools. The calls of these tools are recorded
 * like other calls, so a resumed run never repeats a finished call.
 *
 * The server's annotations set the effect: `readOnlyHint` means `none`, `idempotentHint` means `idempotent`, and any
 * other tool is `irreversible`. `destructiveHint`, which the protocol defaults to `true`, sets `dangerous`. The server
 * does not guarantee its annotations. If you do not trust a server, replace its annotations with `tools`. If the
 * connection is lost during a call that is not safe to repeat, the outcome of the call is recorded as unknown. The id
 * of the call is sent as `_meta["agent-persistence/toolCallId"]`.
 *
 * A call returns the structured content of the result, or the text if the result contains only text, or all content. A
 * result with `isError` is a failed call. The library's time limits replace the limits of the client. Without a
 * `timeoutMs` in `tools`, a call also counts as lost after 10 minutes without a response or progress.
 *
 * @param client a connected client, which the library does not close
 * @example
 * ```ts
 * const client = new Client({ name: "desk", version: "1.0.0" });
 * await client.connect(new StreamableHTTPClientTransport(new URL("https://example.com/mcp")));
 * const tools = await mcpTools(client, { tools: { create_issue: { effect: "irreversible", needsApproval: true } } });
 * const agent = new AIAgent({ promptExecutor, llmModel, tools });
 * ```
 * @throws InvalidInputError for a wrong option, for settings of an unknown tool, and for an unusable tool. Errors of
 * the client are passed on.
 */
export async function mcpTools(client: McpClient, options: McpToolsOptions = {}): Promise<AnyTool[]> {
  checkSchema(clientSchema, client, "client of mcpTools()");
  checkSchema(optionsSchema, options, "options of mcpTools()");
  const listed = await allTools(client);
  const { tools: settings = {}, prefix = "" } = options;
  assertKnown(Object.keys(settings), listed);
  const byName = new Map(Object.entries(settings));
  const tools = listed.map((each) => {
    const { name = prefix + each.name.replaceAll(/[^\w-]/g, "_"), ...own } = byName.get(each.name) ?? {};
    return durable(client, each, { name, ...own });
  });
  assertDistinct(tools, listed);
  return tools;
}

async function allTools(client: McpClient): Promise<readonly McpTool[]> {
  const tools: McpTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page++) {
    const listed = checkSchema(
      listedSchema,
      await client.listTools(cursor === undefined ? {} : { cursor }),
      "list of tools of the MCP server",
    ) as z.output<typeof listedSchema>;
    tools.push(...listed.tools);
    cursor = listed.nextCursor;
    if (cursor === undefined) return tools;
  }
  throw refusal(`expected at most ${mostPages} pages of tools`);
}

function durable(client: McpClient, listed: McpTool, settings: McpToolSettings & { readonly name: string }): AnyTool {
  const { annotations = {} } = listed;
  const effect = settings.effect ?? effectOf(annotations);
  return tool({
    description: listed.description ?? "",
    inputSchema: schemaOf(listed),
    dangerous: effect !== "none" && (annotations.destructiveHint ?? true),
    externalApi: true,
    ...settings,
    effect,
    execute: (input, call) =>
      callMcpTool(
        { client, name: listed.name, toolName: settings.name, effect, limits: limitsOf(settings) },
        input,
        call,
      ),
  });
}

function effectOf({ readOnlyHint, idempotentHint }: McpToolAnnotations): ToolEffect {
  if (readOnlyHint) return "none";
  return idempotentHint ? "idempotent" : "irreversible";
}

/** Returns a schema that accepts every object. The schema of the server is sent to models. */
function schemaOf({ inputSchema }: McpTool): z.ZodType<McpToolInput, McpToolInput> {
  const schema = z.record(z.string(), z.unknown());
  schema._zod.toJSONSchema = () => inputSchema;
  return schema;
}

function assertKnown(names: readonly string[], listed: readonly McpTool[]): void {
  const known = new Set(listed.map(({ name }) => name));
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw refusal(`has no tool ${quotedList(unknown)}; it has ${quotedList([...known])}. Correct the settings`);
}

function assertDistinct(tools: readonly AnyTool[], listed: readonly McpTool[]): void {
  const names = tools.map(({ name }) => name);
  for (const [at, name] of names.entries()) {
    const other = names.indexOf(name);
    if (other === at) continue;
    const both = [other, at].map((index) => quoted(listed[index]?.name ?? ""));
    throw refusal(
      `${both.join(" and ")} are both named ${quoted(name)}. Pass tools: { ${both[1]}: { name: "…" } } for another name`,
    );
  }
}

function refusal(expected: string): InvalidInputError {
  return new InvalidInputError("MCP server", [{ path: "", expected }]);
}

/** The key in `_meta` for the id of the call. A server can use this id as an idempotency key. */
const toolCallIdKey = "agent-persistence/toolCallId";

/** The longest time that JavaScript timers accept. */
const noTimeoutMs = 2 ** 31 - 1;
/** How long a server may send neither a response nor progress, in milliseconds. */
const mostSilentMs = 600_000;

/**
 * Returns the limits for the client. The agent enforces a `timeoutMs`. Without this limit, the call ends if the server
 * is silent, because a client does not notice that an HTTP server has lost the stream of its response.
 */
function limitsOf({ timeoutMs }: McpToolSettings): object {
  if (timeoutMs !== undefined) return { timeout: noTimeoutMs };
  return { timeout: mostSilentMs, resetTimeoutOnProgress: true, onprogress: () => undefined };
}

interface McpCall {
  readonly client: McpClient;
  readonly limits: object;
  /** The name on the server. */
  readonly name: string;
  /** The name that the model uses. */
  readonly toolName: string;
  readonly effect: ToolEffect;
}

/**
 * Calls a tool of an MCP server.
 *
 * @throws ToolOutcomeUnknownError if no response arrives and the call possibly took effect
 */
async function callMcpTool(call: McpCall, input: unknown, options: ToolCallOptions): Promise<unknown> {
  const { toolCallId, abortSignal } = options;
  let result: McpToolResult;
  try {
    result = await request(call, input, options);
  } catch (error) {
    if (abortSignal.aborted || isWithoutEffect(error)) throw error;
    throw lostFailure(call, toolCallId, error);
  }
  if (result.isError) throw new Error(textsOf(result).join("\n") || "The server reported an error without a text.");
  return outputOf(result);
}

/**
 * Returns the error of a call without a response. A call that is safe to repeat has failed, but possibly took effect.
 * So a rollback repeats and reverts the call.
 */
function lostFailure({ toolName, effect }: McpCall, toolCallId: string, cause: unknown): Error {
  if (!isRepeatable(effect)) return new ToolOutcomeUnknownError(toolName, toolCallId);
  const failure = new ToolFailedError(toolName, toolCallId, reasonOf(cause), { cause });
  lateFailures.add(failure);
  return failure;
}

async function request(
  { client, name, limits }: McpCall,
  input: unknown,
  { toolCallId, abortSignal }: ToolCallOptions,
): Promise<McpToolResult> {
  const params = { name, arguments: input as Record<string, unknown>, _meta: { [toolCallIdKey]: toolCallId } };
  const options = { signal: abortSignal, ...limits };
  // Version 1 takes a result schema before the options. `length` does not count the schema, because it has a default.
  const rest = client.callTool.length < 2 ? [undefined, options] : [options];
  return client.callTool(params, ...(rest as never[]));
}

/** Messages of errors that the client throws if a response does not match the output schema of the tool. */
const textsAfterAnswer: readonly string[] = [
  "has an output schema but did not return structured content",
  "Structured content does not match the tool's output schema",
  "Failed to validate structured content",
];
/** Codes with which version 1 of the client reports a closed connection and a timeout. */
const codesWithoutAnswer: readonly unknown[] = [-32_000, -32_001];
/** Codes with which version 2 of the client reports failures before it sends the request. */
const codesBeforeRequest: readonly unknown[] = ["NOT_CONNECTED", "CAPABILITY_NOT_SUPPORTED"];
/** Codes with which Node's `fetch` reports that it cannot reach a server. */
const codesWithoutServer: readonly unknown[] = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"];
/**
 * HTTP statuses with which a server rejects a request without processing it. In version 1 of the client, the status is
 * the `code` of the error, in version 2 its `status`.
 */
const refusingStatuses: readonly unknown[] = [400, 401, 403, 404, 405, 406, 411, 413, 415, 429];
/** The first error code that JSON-RPC reserves. Codes from here to {@link lastRpcCode} come from the server. */
const firstRpcCode = -32_768;
const lastRpcCode = -32_000;

/** Returns whether the call surely had no effect: the server answered with an error, or the request was not sent. */
function isWithoutEffect(error: unknown): boolean {
  const { code, message, status, cause } = Object(error) as { readonly [field: string]: unknown };
  if (isUnauthorized(error)) return true;
  if (codesWithoutServer.includes((Object(cause) as { readonly code?: unknown }).code)) return true;
  if (refusingStatuses.includes(code) || refusingStatuses.includes(status)) return true;
  if (typeof code !== "number")
    return codesBeforeRequest.includes(code) || (code === undefined && message === "Not connected");
  if (textsAfterAnswer.some((text) => String(message).includes(text))) return false;
  return code >= firstRpcCode && code <= lastRpcCode && !codesWithoutAnswer.includes(code);
}

/** Returns whether a user must authorize the client first. Only version 2 of the client sets the name of the error. */
function isUnauthorized(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return [error.name, error.constructor.name].includes("UnauthorizedError");
}

/** Returns the structured content, or the text if a result contains only text, or all content. */
function outputOf(result: McpToolResult): unknown {
  return result.structuredContent ?? textOf(result) ?? result.content ?? [];
}

function textOf(result: McpToolResult): string | undefined {
  const texts = textsOf(result);
  return texts.length > 0 && texts.length === result.content?.length ? texts.join("\n") : undefined;
}

function textsOf({ content = [] }: McpToolResult): readonly string[] {
  return content.flatMap((part) => {
    const { type, text } = part as { readonly type: string; readonly text?: unknown };
    return type === "text" && typeof text === "string" ? text : [];
  });
}

/** Hints of an MCP server about a tool. The server does not guarantee these hints. */
export interface McpToolAnnotations {
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean | undefined;
}

/** A tool as an MCP server lists it. */
export interface McpTool {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON Schema. */
  readonly inputSchema: { readonly [key: string]: unknown };
  readonly annotations?: McpToolAnnotations | undefined;
}

/** The result of a tool call, as the protocol defines it. */
export interface McpToolResult {
  readonly content?: readonly { readonly type: string }[] | undefined;
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
}

/** A connected client: `Client` of `@modelcontextprotocol/client` 2, or of `@modelcontextprotocol/sdk` 1. */
export interface McpClient {
  listTools(params?: { cursor?: string }): Promise<{
    readonly tools: readonly McpTool[];
    readonly nextCursor?: string | undefined;
  }>;
  /** Version 2 of the client takes the options second. Version 1 takes a result schema second and the options third. */
  callTool(
    params: { name: string; arguments?: Record<string, unknown>; _meta?: Record<string, unknown> },
    ...rest: never[]
  ): Promise<object>;
}

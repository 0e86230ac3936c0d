import { z } from "zod";
import { type AnyTool, tool, type Tool, type ToolEffect } from "../../agent/tool/Tool.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { quoted, quotedList } from "../../errors/quoted.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { functionSchema, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { callMcpTool } from "./callMcpTool.ts";
import type { McpClient, McpTool, McpToolAnnotations } from "./McpClient.ts";

/** The input of a tool of an MCP server. The server checks it. */
export type McpToolInput = Record<string, unknown>;

/** Settings of one tool of an MCP server. They override the server's annotations. */
export interface McpToolSettings extends Partial<
  Pick<
    Tool<McpToolInput, unknown>,
    "effect" | "dangerous" | "externalApi" | "modifiesFiles" | "timeoutMs" | "needsApproval" | "probe"
  >
> {
  /** The name for the model. Defaults to the server's name with `prefix` and with `_` for unsupported characters. */
  readonly name?: string;
}

/** Options of {@link mcpTools}. */
export interface McpToolsOptions {
  /**
   * The prefix of each tool name, such as `github_`. Use it if several servers have tools with the same name. Defaults
   * to an empty prefix.
   */
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
      strictOptions(() => ({
        name: z.string().optional(),
        effect: z.string().optional(),
        dangerous: z.boolean().optional(),
        externalApi: z.boolean().optional(),
        modifiesFiles: z.boolean().optional(),
        timeoutMs: z.number().optional(),
        needsApproval: z.union([z.boolean(), functionSchema()]).optional(),
        probe: functionSchema().optional(),
      })),
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

/** The maximum number of pages. Only a server that never ends its list exceeds it. */
const mostPages = 1000;

/**
 * Returns the tools of a server of the Model Context Protocol as durable tools. The calls are recorded like other
 * calls, so a resumed run never repeats a finished call.
 *
 * The server's annotations set the effect: `readOnlyHint` means `none`, `idempotentHint` means `idempotent`, and any
 * other tool is `irreversible`. `destructiveHint`, which the protocol defaults to `true`, sets `dangerous`. The server
 * does not guarantee its annotations. Override them with `tools` for a server that you do not trust. If a connection is
 * lost during a call that is not safe to repeat, its outcome is recorded as unknown. The id of the call is sent as
 * `_meta["agent-persistence/toolCallId"]`.
 *
 * A call returns the structured content of the result. Without it, a call returns the text if the result contains only
 * text, and all content otherwise. A result with `isError` is a failed call. The library's time limits replace the
 * limits of the client.
 *
 * @param client A connected client. The library does not close it.
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
    execute: (input, call) => callMcpTool({ client, name: listed.name, toolName: settings.name, effect }, input, call),
  });
}

function effectOf({ readOnlyHint, idempotentHint }: McpToolAnnotations): ToolEffect {
  if (readOnlyHint) return "none";
  return idempotentHint ? "idempotent" : "irreversible";
}

/** Returns a schema that accepts every object. Models receive the schema of the server. */
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

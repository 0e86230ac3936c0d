import { DuplicateNameError } from "../../errors/strategyErrors.ts";
import { InvalidInputError } from "../../errors/agentErrors.ts";
import { isRepeatable } from "../../agent/tool/recordedCall.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { kindOf } from "../../internal/options/optionSchemas.ts";
import { hostedTool } from "../hosted/HostedTool.ts";
import type { PersistenceSaver } from "./PersistenceSaver.ts";
import { type CallJournal, type MadeCall, journalOf } from "./tools/CallJournal.ts";
import {
  type GraphTool,
  type GraphToolSettings,
  graphToolSettingsSchema,
  type GraphToolsSettings,
  type LangChainTool,
  type ToolConfig,
  type ToolRun,
} from "./tools/GraphTool.ts";
import { ensureConfig } from "@langchain/core/runnables";
import { ToolOutsideThreadError } from "../../errors/integrationErrors.ts";
import { letThrough } from "./tools/letThrough.ts";
import { type CallPlace, idempotencyKey, TaskAttempts, type TaskPlace, taskPlace } from "./tools/TaskPlace.ts";
import { NotSupportedError } from "../../errors/storageErrors.ts";
import { quoted } from "../../errors/AgentPersistenceError.ts";
import type { RedactedStorage, SecretTool } from "../../redaction/log/RedactedRecordLog.ts";
import { isSchema, secretPaths } from "../../redaction/secret.ts";
import type { LogStorage } from "../../storage/PersistenceStorageProvider.ts";

const ticketKey = Symbol("ticket");

const attempts = new TaskAttempts();

/**
 * Wraps LangChain tools so that their calls are recorded in the thread of the graph. If a node runs again after a
 * crash, an interrupt or a failure, its calls return the recorded results, and the tools do not run again. Compile the
 * graph with the given checkpointer. Call the tools in its nodes, or pass them to its `ToolNode` or agent. Each call
 * receives an id in `config.configurable.idempotency_key`, which is the same if the call is repeated.
 *
 * @example
 * ```ts
 * const [durableCharge] = durableTools(checkpointer, [charge], {
 *   charge: { effect: "irreversible", probe: async (_input, { toolCallId }) => ((await isPaid(toolCallId)) ? "done" : "not-done") },
 * });
 * const tools = new ToolNode([durableCharge]);
 * ```
 *
 * @param settings the crash recovery settings of the tools, by name. The effect defaults to `irreversible`.
 * @returns the tools in the given order
 * @throws InvalidInputError, also for settings of a tool that is not given. DuplicateNameError.
 * @throws NotSupportedError if `secret()` marks a field, and another storage wraps the redacted one
 */
export function durableTools<const Tools extends readonly LangChainTool[]>(
  checkpointer: PersistenceSaver,
  tools: Tools,
  settings: GraphToolsSettings<NoInfer<Tools>> = {} as GraphToolsSettings<Tools>,
): { -readonly [At in keyof Tools]: Tools[At] } {
  const journal = journalOf(checkpointer);
  if (!journal) throw wrong("checkpointer", "a PersistenceSaver", checkpointer);
  if (!Array.isArray(tools)) throw wrong("tools", "a list of tools", tools);
  const given = checkedSettings(tools as readonly unknown[], settings);
  redactSecrets(journal.storage, tools);
  return tools.map((tool) => {
    const made = durableTool(tool as GraphTool, journal, given.get(tool.name) ?? {});
    durable.add(made);
    return made;
  }) as { -readonly [At in keyof Tools]: Tools[At] };
}

const durable = new WeakSet<object>();

function checkedSettings(
  tools: readonly unknown[],
  settings: object,
): ReadonlyMap<string, GraphToolSettings<unknown> | undefined> {
  const names = new Set<string>();
  for (const [at, tool] of tools.entries()) {
    const { name } = checkedTool(tool, at);
    if (names.has(name)) throw new DuplicateNameError("duplicate_tool", name);
    names.add(name);
  }
  if (typeof settings !== "object" || settings === null) throw wrong("settings", "settings by tool", settings);
  for (const [name, own] of Object.entries(settings)) {
    if (!names.has(name)) throw wrong(`settings.${name}`, `the name of a given tool: ${[...names].join(", ")}`, own);
    if (own !== undefined) checkSchema(graphToolSettingsSchema, own, `settings of tool "${name}"`);
  }
  return new Map(Object.entries(settings));
}

/** @throws InvalidInputError */
function checkedTool(tool: unknown, at: number): GraphTool {
  const { _call, call, name } = Object(tool) as Partial<GraphTool>;
  if (typeof _call !== "function" || typeof call !== "function" || typeof name !== "string")
    throw wrong(`tools[${at}]`, "a tool of LangChain, such as tool(…) makes", tool);
  if (durable.has(tool as object)) throw wrong(`tools[${at}]`, "a tool that is not durable yet", tool);
  hostedTool(name);
  return tool as GraphTool;
}

function wrong(path: string, expected: string, found: unknown): InvalidInputError {
  return new InvalidInputError("arguments of durableTools", [
    { path, expected: `expected ${expected}, received ${kindOf(found)}` },
  ]);
}

/** A call and its position, which is assigned when the node makes the call. */
interface Ticket {
  readonly input: unknown;
  readonly where: { readonly task: TaskPlace; readonly place: CallPlace } | ToolOutsideThreadError["where"];
}

type TicketConfig = ToolConfig & { readonly [ticketKey]?: Ticket };

/** Returns a proxy that records the calls of the tool. All other members stay unchanged. */
function durableTool(tool: GraphTool, journal: CallJournal, settings: GraphToolSettings<unknown>): object {
  const { effect = "irreversible", probe } = settings;
  const members: Pick<GraphTool, "call" | "_call"> = {
    call(input, given, tags) {
      const config = configOf(given, input);
      const ticket = ticketOf(input, config, journal);
      return tool.call.call(this, input, { ...config, [ticketKey]: ticket }, tags);
    },
    async _call(parsed, run, config: TicketConfig = {}) {
      const { input, where } = config[ticketKey] ?? ticketOf(parsed, configOf(config, parsed), journal);
      if (typeof where === "string") throw outside(tool.name, where);
      const { signal, toolCall: { id: toolCallId } = {} } = config;
      const perform: MadeCall["perform"] = async (id) =>
        lastOf(await tool._call(parsed, run, configFor(tool, config, id, effect)), run);
      const made = { ...where, tool: tool.name, effect, probe, input, parsed, signal, toolCallId, perform };
      const outcome = await journal.call(made);
      if ("thrown" in outcome) throw outcome.thrown;
      return outcome.output;
    },
  };
  return Object.create(tool, {
    call: { value: members.call, configurable: true, writable: true },
    _call: { value: members._call, configurable: true, writable: true },
  }) as object;
}

function outside(name: string, where: ToolOutsideThreadError["where"]): ToolOutsideThreadError {
  const error = new ToolOutsideThreadError(name, where);
  letThrough(error);
  return error;
}

/** Returns the config of the caller, or the config of the node if the caller passes none. */
function configOf(given: unknown, input: unknown): ToolConfig {
  // Older LangChain versions passed callbacks in place of a config.
  const isConfig = typeof given === "object" && given !== null && !Array.isArray(given) && !("name" in given);
  const config = ensureConfig((isConfig ? given : { callbacks: given }) as never) as ToolConfig;
  return isToolCall(input) ? { ...config, toolCall: input } : config;
}

function ticketOf(input: unknown, config: ToolConfig, { checkpointer }: CallJournal): Ticket {
  const task = taskPlace(config, checkpointer);
  const written = isToolCall(input) ? input.args : input;
  return { input: written, where: typeof task === "string" ? task : { task, place: attempts.take(task, config) } };
}

function isToolCall(input: unknown): input is { readonly id: string; readonly args: unknown } {
  const { id, type, args } = Object(input) as Readonly<Record<string, unknown>>;
  return typeof id === "string" && type === "tool_call" && args !== undefined;
}

/**
 * Builds the config that the tool receives. LangChain rejects a call as soon as its signal aborts, although the tool
 * can still run and take effect. So for calls with an effect, only the tool gets the signal.
 */
function configFor(tool: GraphTool, config: TicketConfig, id: string, effect: string): ToolConfig {
  const { [ticketKey]: _ticket, signal, ...rest } = config;
  const configurable = { ...config.configurable, [idempotencyKey]: id };
  const isCutOff = "func" in tool && !isRepeatable(effect);
  return { ...rest, configurable, ...(signal && !isCutOff && { signal }) };
}

/** Returns the last value of a generator tool. Passes the earlier values to the callbacks of LangChain. */
async function lastOf(output: unknown, run: ToolRun | undefined): Promise<unknown> {
  if (!isGenerator(output)) return output;
  for (;;) {
    const { done, value } = await output.next();
    if (done) return value;
    await run?.handleToolEvent?.(value);
  }
}

function isGenerator(output: unknown): output is AsyncGenerator {
  return Object.prototype.toString.call(output) === "[object AsyncGenerator]";
}

/**
 * Redacts the fields that `secret()` marks in the schemas of tools, if the storage is redacted.
 *
 * @throws NotSupportedError if another storage wraps the redacted storage, because the marks could then not match.
 */
function redactSecrets(
  storage: LogStorage,
  tools: readonly { readonly name: string; readonly schema?: unknown }[],
): void {
  if (!storage.log.capabilities.redacted) return;
  const marked = tools.flatMap(({ name, schema }) => (hasSecrets(schema) ? [{ name, inputSchema: schema }] : []));
  const [first] = marked;
  if (!first) return;
  const { redactInputsOf } = storage as Partial<RedactedStorage>;
  if (redactInputsOf) return redactInputsOf(marked);
  throw new NotSupportedError(
    `secret() of the tool ${quoted(first.name)}`,
    "the result of redact.storage() as storage",
  );
}

function hasSecrets(schema: unknown): schema is SecretTool["inputSchema"] {
  return isSchema(schema) && secretPaths(schema).length > 0;
}

import { DuplicateNameError } from "../../errors/strategyErrors.ts";
import { InvalidInputError, UnknownToolError } from "../../errors/agentErrors.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { kindOf } from "../../internal/options/optionSchemas.ts";
import { hostedTool } from "../hosted/HostedTool.ts";
import type { PersistenceSaver } from "./PersistenceSaver.ts";
import type { CallJournal } from "./tools/CallJournal.ts";
import { journalOf } from "./tools/callJournals.ts";
import { durableTool } from "./tools/durableTool.ts";
import type { GraphTool } from "./tools/GraphTool.ts";
import {
  type GraphToolSettings,
  graphToolSettingsSchema,
  type GraphToolsSettings,
  type LangChainTool,
} from "./tools/GraphToolSettings.ts";

/**
 * Wraps LangChain tools so that their calls are recorded in the thread of the graph. A node that runs again after a
 * crash, an interrupt or a failure gets the recorded results instead of calling the tools again. Call the tools in
 * nodes, or pass them to a `ToolNode` or an agent of a graph with this checkpointer. Each call receives an id in
 * `config.configurable.idempotency_key`, which stays the same if the call is repeated.
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
 * @throws InvalidInputError, DuplicateNameError
 * @throws UnknownToolError for settings of a tool that is not given
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
  return tools.map((tool) => wrapped(tool, journal, given.get(tool.name))) as {
    -readonly [At in keyof Tools]: Tools[At];
  };
}

const durable = new WeakSet<object>();

function wrapped(tool: unknown, journal: CallJournal, settings: GraphToolSettings<unknown> = {}): object {
  const made = durableTool(tool as GraphTool, journal, settings);
  durable.add(made);
  return made;
}

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
    if (!names.has(name)) throw new UnknownToolError(name, [...names]);
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

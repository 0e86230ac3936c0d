import { ensureConfig } from "@langchain/core/runnables";
import { ToolOutsideThreadError } from "../../../errors/integrationErrors.ts";
import type { CallJournal, MadeCall } from "./CallJournal.ts";
import type { GraphTool, ToolConfig, ToolRun } from "./GraphTool.ts";
import type { GraphToolSettings } from "./GraphToolSettings.ts";
import { letThrough } from "./letThrough.ts";
import { type CallPlace, idempotencyKey, TaskAttempts } from "./TaskAttempts.ts";
import { type TaskPlace, taskPlace } from "./TaskPlace.ts";

/** A call with the position that it got when the node made it. */
interface Ticket {
  readonly input: unknown;
  readonly where: { readonly task: TaskPlace; readonly place: CallPlace } | ToolOutsideThreadError["where"];
}

const ticketKey = Symbol("ticket");
type TicketConfig = ToolConfig & { readonly [ticketKey]?: Ticket };

const attempts = new TaskAttempts();

/** Returns a proxy of the tool that records its calls and is otherwise unchanged. */
export function durableTool(tool: GraphTool, journal: CallJournal, settings: GraphToolSettings<unknown>): object {
  const members: Pick<GraphTool, "call" | "_call"> = {
    call(input, given, tags) {
      const config = configOf(given, input);
      const ticket = ticketOf(input, config, journal);
      return tool.call.call(this, input, { ...config, [ticketKey]: ticket }, tags);
    },
    _call: (parsed, run, config = {}) => called(tool, { journal, settings, parsed, run, config }),
  };
  return Object.create(tool, {
    call: { value: members.call, configurable: true, writable: true },
    _call: { value: members._call, configurable: true, writable: true },
  }) as object;
}

interface Calling {
  readonly journal: CallJournal;
  readonly settings: GraphToolSettings<unknown>;
  readonly parsed: unknown;
  readonly run: ToolRun | undefined;
  readonly config: TicketConfig;
}

async function called(tool: GraphTool, { journal, settings, parsed, run, config }: Calling): Promise<unknown> {
  const { input, where } = config[ticketKey] ?? ticketOf(parsed, configOf(config, parsed), journal);
  if (typeof where === "string") throw outside(tool.name, where);
  const { effect = "irreversible", probe } = settings;
  const { signal } = config;
  const perform: MadeCall["perform"] = async (id) =>
    lastOf(await tool._call(parsed, run, configFor(tool, config, id, effect)), run);
  const outcome = await journal.call({ ...where, tool: tool.name, effect, probe, input, parsed, signal, perform });
  if ("thrown" in outcome) throw outcome.thrown;
  return outcome.output;
}

function outside(name: string, where: ToolOutsideThreadError["where"]): ToolOutsideThreadError {
  const error = new ToolOutsideThreadError(name, where);
  letThrough(error);
  return error;
}

/** Falls back to the config of the node if the caller passes no config. */
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
 * Builds the config of the tool. LangChain rejects a call as soon as its signal aborts, while the tool may still run
 * and take effect. For calls with an effect, the tool can read the signal but LangChain cannot.
 */
function configFor(tool: GraphTool, config: TicketConfig, id: string, effect: string): ToolConfig {
  const { [ticketKey]: _ticket, signal, ...rest } = config;
  const configurable = { ...config.configurable, [idempotencyKey]: id };
  const isCutOff = "func" in tool && effect !== "none" && effect !== "idempotent";
  return { ...rest, configurable, ...(signal && !isCutOff && { signal }) };
}

/** Returns the last value of a generator tool. LangChain's callbacks receive the values before. */
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

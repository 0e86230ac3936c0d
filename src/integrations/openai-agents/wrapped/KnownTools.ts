import type { ToolCode } from "../../../agent/tool/Tool.ts";
import { quoted } from "../../../errors/AgentPersistenceError.ts";
import { hostedTool, type HostedTool, type HostedToolSettings } from "../../hosted/HostedTool.ts";
import type { AnyFunctionTool } from "./AnyAgent.ts";
import { KeptComputers } from "./KeptComputers.ts";

/** The tools of a runner in the form of the log. A tool without settings is registered at its first call. */
export class KnownTools {
  readonly computers = new KeptComputers();
  readonly #tools: Map<string, HostedTool>;

  /** @throws InvalidInputError for an invalid tool name */
  constructor(settings: Readonly<Record<string, HostedToolSettings>>) {
    this.#tools = new Map(Object.entries(settings).map(([name, own]) => [name, hostedTool(name, own, codeOf(name))]));
  }

  get all(): readonly HostedTool[] {
    return [...this.#tools.values()];
  }

  /** Registers a tool. Agents used as tools have the effect `none`, because their steps are recorded. */
  meet(tool: AnyFunctionTool): void {
    if (!this.#tools.has(tool.name)) this.#add(tool.name, isAgent(tool) ? { effect: "none" } : {});
  }

  named(name: string): HostedTool {
    return this.#tools.get(name) ?? this.#add(name, {});
  }

  #add(name: string, settings: HostedToolSettings): HostedTool {
    const found = hostedTool(name, settings, codeOf(name));
    this.#tools.set(name, found);
    return found;
  }
}

function codeOf(name: string): ToolCode {
  return {
    declaration: `new DurableRunner({ storage, tools: { ${quoted(name)}: { effect: "idempotent" } } })`,
    settling: (agentId, toolCallId) => `runner.agent(${quoted(agentId)}).settleToolCall(${quoted(toolCallId)}, `,
  };
}

/** Detects tools of `agent.asTool()` by their `on` method. */
function isAgent(tool: object): boolean {
  return "on" in tool && typeof tool.on === "function";
}

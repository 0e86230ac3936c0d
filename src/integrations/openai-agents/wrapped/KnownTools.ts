import { hostedTool, type HostedTool, type HostedToolSettings } from "../../hosted/HostedTool.ts";
import type { AnyFunctionTool } from "./AnyAgent.ts";

/** The tools of a runner, as the log knows them. A tool that has no settings is known when it is called. */
export class KnownTools {
  readonly #tools: Map<string, HostedTool>;

  /** @throws InvalidInputError for a name that no tool can have. */
  constructor(settings: Readonly<Record<string, HostedToolSettings>>) {
    this.#tools = new Map(Object.entries(settings).map(([name, own]) => [name, hostedTool(name, own)]));
  }

  get all(): readonly HostedTool[] {
    return [...this.#tools.values()];
  }

  /** Makes a tool known. What an agent that is a tool does has records of its own. */
  meet(tool: AnyFunctionTool): void {
    if (!this.#tools.has(tool.name)) this.#add(tool.name, isAgent(tool) ? { effect: "none" } : {});
  }

  named(name: string): HostedTool {
    return this.#tools.get(name) ?? this.#add(name, {});
  }

  #add(name: string, settings: HostedToolSettings): HostedTool {
    const found = hostedTool(name, settings);
    this.#tools.set(name, found);
    return found;
  }
}

/** Tools that `agent.asTool()` has made listen to events. */
function isAgent(tool: object): boolean {
  return "on" in tool && typeof tool.on === "function";
}

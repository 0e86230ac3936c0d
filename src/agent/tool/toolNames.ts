import { UnknownToolError } from "../../errors/agent/UnknownToolError.ts";
import type { ToolRef } from "../context/ToolRef.ts";
import type { AnyTool } from "./Tool.ts";

/** The names of tools. @throws UnknownToolError for a tool that a resumed run would not find: the agent does not have it. */
export function namesOfTools(known: ReadonlyMap<string, ToolRef>, tools: readonly ToolRef[]): readonly string[] {
  for (const tool of tools) {
    if (known.get(tool.name) !== tool) throw new UnknownToolError(tool.name, [...known.keys()]);
  }
  return tools.map(({ name }) => name);
}

/** The tools of these names. @throws UnknownToolError for a name that the agent does not have. */
export function toolsByNames(known: ReadonlyMap<string, AnyTool>, names: readonly string[]): readonly AnyTool[] {
  return names.map((name) => {
    const tool = known.get(name);
    if (!tool) throw new UnknownToolError(name, [...known.keys()]);
    return tool;
  });
}

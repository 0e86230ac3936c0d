import { tool, type AnyTool, type ToolCallOptions, type ToolEffect } from "agent-persistence";
import { z } from "zod";

export interface Effect {
  readonly toolCallId: string;
  readonly tool: string;
  readonly item: string;
}

/** The world outside an agent: what was done to it, and in which order. It outlives the agent's processes. */
export class World {
  /** Everything that tools and inverses did, in order. */
  readonly done: string[] = [];
  /** The nodes that ran, in order. */
  readonly nodes: string[] = [];
  /** Effects that stand, by the id of the call that made them; the same call again changes nothing. */
  readonly effects = new Map<string, Effect>();
  /** Ids of the calls that were reverted, once for each time. */
  readonly undone: string[] = [];
  /** Ids of the calls that ran, once for each time. */
  readonly executed: string[] = [];

  add(item: string, { toolCallId }: Pick<ToolCallOptions, "toolCallId">, toolName: string): { readonly made: string } {
    this.done.push(`${toolName} ${item}`);
    this.executed.push(toolCallId);
    this.effects.set(toolCallId, { toolCallId, tool: toolName, item });
    return { made: item };
  }

  remove(toolCallId: string, item: string): void {
    this.done.push(`undo ${item}`);
    this.undone.push(toolCallId);
    this.effects.delete(toolCallId);
  }

  /** The items that stand, by name. */
  get items(): readonly string[] {
    return [...this.effects.values()].map(({ item }) => item).sort();
  }

  /** A tool that adds an item to the world. */
  adder(name: string, effect?: ToolEffect) {
    return tool({
      name,
      description: "",
      inputSchema: z.object({ item: z.string() }),
      ...(effect && { effect }),
      execute: ({ item }, options) => this.add(item, options, name),
    });
  }

  /** A tool that fails after it did something. */
  failing(name: string, effect?: ToolEffect): AnyTool & { readonly name: string } {
    return tool({
      name,
      description: "",
      inputSchema: z.object({ item: z.string() }),
      ...(effect && { effect }),
      execute: ({ item }, { toolCallId }) => {
        this.executed.push(toolCallId);
        throw new RangeError(`${item} is out`);
      },
    });
  }
}

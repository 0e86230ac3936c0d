import { type Message, type Migration, strategy, tool } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { logStorages } from "../support/storages.ts";

const renames = { from: 0, to: 1, tools: { pay: "payOut" } } as const;
const migrations: Readonly<Record<string, Migration>> = {
  "renames a tool": renames,
  "renames a tool and adds a message": {
    ...renames,
    migrate: (line) => ({ ...line, messageHistory: [{ role: "system", content: "new" }, ...line.messageHistory] }),
  },
  "changes each message": {
    ...renames,
    migrate: (line) => ({
      ...line,
      messageHistory: line.messageHistory.map((message) =>
        typeof message.content === "string" ? ({ ...message, content: `${message.content}!` } as Message) : message,
      ),
    }),
  },
  "renames a tool and changes its calls": {
    ...renames,
    migrate: (line) => ({
      ...line,
      messageHistory: line.messageHistory.map((message) =>
        typeof message.content === "string"
          ? message
          : ({ ...message, content: message.content.map((part) => ({ ...part, input: { amount: 1 } })) } as Message),
      ),
    }),
  },
};

/** An agent whose branches follow a call of a tool. It stops before or after the message of a branch, or in the merge. */
function branching(fault: Fault, stop: string, seen: unknown[]) {
  return (version: number) => {
    const toolName = version === 0 ? "pay" : "payOut";
    const pay = tool({ name: toolName, description: "", inputSchema: z.object({}), execute: () => 1 });
    const graph = strategy<string, string>("s", { version }, (g) => {
      const first = g.node("first", async (text: string, { llm }) => {
        const call = { type: "tool-call", toolCallId: "c1", toolName, input: {} } as const;
        llm.append({ role: "user", content: "start" }, { role: "assistant", content: [call] });
        return text;
      });
      const left = g.node("left", async (text: string, { llm }) => {
        llm.append({ role: "user", content: "left" });
        if (stop === "after the message of a branch") fault.strike();
        return text;
      });
      const right = g.node("right", async (text: string, { llm }) => {
        await new Promise(setImmediate);
        if (stop === "before the message of a branch") fault.strike();
        llm.append({ role: "user", content: "right" });
        return text;
      });
      const both = g.parallel("both", { left, right }, (texts, { branches, llm }) => {
        llm.append(...branches.left.messages, ...branches.right.messages);
        if (stop === "in the merge") fault.strike();
        return texts.left;
      });
      const last = g.node("last", async (text: string, { llm }) => {
        seen.push(...llm.messages.map(({ content }) => (typeof content === "string" ? content : "call")));
        return text;
      });
      g.edge(g.start, first);
      g.edge(first, both);
      g.edge(both, last);
      g.edge(last, g.finish);
    });
    return { graph, tools: [pay] };
  };
}

describe.each(logStorages)("$name: a migration that changes messages from before open branches", (storage) => {
  it.each(
    Object.keys(migrations).flatMap((change) =>
      ["before the message of a branch", "after the message of a branch", "in the merge"].map((stop) => [change, stop]),
    ),
  )("adds the messages of each branch once if it %s and the run stopped %s", async (change = "", stop = "") => {
    const opened = await storage.open();
    const fault = new Fault();
    const seen: unknown[] = [];
    const made = branching(fault, stop, seen);
    const agent = (version: number, given: readonly Migration[] = []) => {
      const { graph, tools } = made(version);
      return durableAgent(graph, opened(), { tools, migrations: given });
    };
    await fault.stops(agent(0).run("go"));
    seen.splice(0);
    const migration = migrations[change];
    await agent(1, migration && [migration]).resume();
    expect(seen.map((text) => String(text).replace("!", "")).filter((text) => text !== "new")).toEqual([
      "start",
      "call",
      "left",
      "right",
    ]);
    expect(seen.filter((text) => text === "new").length).toBe(change.includes("adds") ? 1 : 0);
  });
});

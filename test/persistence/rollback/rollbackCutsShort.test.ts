import { AIAgent, Persistence, persistence, tool, ToolCallInDoubtError } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { logStorages, type Opened } from "../support/storages.ts";

/** A model that asks for two calls at once: one takes the run back, one is under way and says nothing of its effect. */
function agentOn(opened: Opened, calls: string[]): AIAgent {
  const mail = tool({
    name: "mail",
    description: "",
    inputSchema: z.object({}),
    execute: (_input, { abortSignal }) => {
      calls.push("mail");
      return new Promise((_resolve, reject) =>
        abortSignal.addEventListener("abort", () => reject(new Error("cut short"))),
      );
    },
  });
  const back = tool({
    name: "back",
    description: "",
    inputSchema: z.object({}),
    effect: "none",
    execute: async (_input, { context }) => {
      const durable = persistence(context);
      const [first] = await durable.getCheckpoints();
      return durable.rollbackToCheckpoint(first?.checkpointId ?? "");
    },
  });
  const both = { toolCalls: [mail, back].map(({ name }) => ({ toolName: name, input: {} })) };
  return new AIAgent({
    promptExecutor: scriptedModel(calls.includes("settled") ? ["done"] : [both]),
    llmModel: "m",
    tools: [mail, back],
    id: "a",
  }).install(Persistence, { storage: opened() });
}

describe.each(logStorages)("a rollback that interrupts an undeclared call, on storage in $name", ({ open }) => {
  it.each([{ output: "sent" }, { error: "not sent" }, "unknown"] as const)(
    "is refused, and continues once the call is settled as the error advises: %j",
    async (settlement) => {
      const opened = await open();
      const calls: string[] = [];
      const refused: unknown = await agentOn(opened, calls)
        .run("x")
        .catch((error: unknown) => error);
      if (!(refused instanceof ToolCallInDoubtError)) throw refused;
      expect(refused.toolName).toBe("mail");
      expect(refused.message).toContain(`agent("a").settleToolCall("${refused.toolCallId}"`);
      calls.push("settled");
      const agent = agentOn(opened, calls);
      const durable = persistence(agent).agent();
      await durable.settleToolCall(refused.toolCallId, settlement);
      expect(await agent.resume()).toMatchObject({ status: "completed", output: "done" });
      // The rollback has taken the turn with its two calls out of the history, and made no call again.
      expect((await durable.getMessages()).map(({ role }) => role)).toEqual(["user", "assistant"]);
      expect(calls).toEqual(["mail", "settled"]);
    },
  );
});

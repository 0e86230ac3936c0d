import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ToolSchemaError } from "agent-persistence/ai-sdk";
import { tool } from "../../../src/agent/tool/Tool.ts";
import { ask, executorOf } from "./ask.ts";
import { ChatServer } from "./ChatServer.ts";

describe("a tool without a JSON schema", () => {
  it("is refused by name before a request is sent", async () => {
    await using server = await ChatServer.start();
    const dated = tool({ name: "dated", description: "", inputSchema: z.object({ on: z.date() }), execute: () => 1 });
    const failure = await ask(executorOf(server), { tools: [dated] }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ToolSchemaError);
    expect(failure).toMatchObject({ code: "tool_schema_unsupported", toolName: "dated" });
    expect(server.requests).toEqual([]);
  });

  it.each([z.string(), z.array(z.string()), z.number()])(
    "is refused if its input is not an object",
    async (inputSchema) => {
      await using server = await ChatServer.start();
      const plain = tool({ name: "plain", description: "", inputSchema, execute: () => 1 });
      await expect(ask(executorOf(server), { tools: [plain] })).rejects.toMatchObject({
        code: "tool_schema_unsupported",
        toolName: "plain",
        message: expect.stringContaining("z.object") as unknown,
      });
      expect(server.requests).toEqual([]);
    },
  );
});

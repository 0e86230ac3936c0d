import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

export interface Deed {
  readonly tool: string;
  readonly id: string;
}

export interface TestServerOptions {
  /** Called with each call that has an effect, and with its id. */
  readonly onDeed: (deed: Deed) => void | Promise<void>;
}

/** A server with a tool of each kind. */
export function testServer({ onDeed }: TestServerOptions): McpServer {
  const server = new McpServer({ name: "desk", version: "1.0.0" });
  const inputSchema = z.object({ room: z.string().describe("The number of the room.") });
  const deed =
    (tool: string) =>
    async ({ room }: { room: string }, { mcpReq: { _meta } }: { mcpReq: { _meta?: Record<string, unknown> } }) => {
      await onDeed({ tool, id: String(_meta?.["agent-persistence/toolCallId"]) });
      return { content: [{ type: "text" as const, text: `${tool} ${room}` }] };
    };
  server.registerTool(
    "rooms.list",
    {
      description: "Lists the rooms.",
      annotations: { readOnlyHint: true },
      outputSchema: z.object({ free: z.number() }),
    },
    async () => ({ content: [{ type: "text", text: "2" }], structuredContent: { free: 2 } }),
  );
  server.registerTool(
    "tag",
    { inputSchema, annotations: { idempotentHint: true, destructiveHint: false } },
    deed("tag"),
  );
  server.registerTool("book", { inputSchema }, deed("book"));
  server.registerTool("photo", { inputSchema }, async () => ({
    content: [
      { type: "text", text: "A room." },
      { type: "image", data: "AAAA", mimeType: "image/png" },
    ],
  }));
  server.registerTool("refuse", { inputSchema }, async ({ room }) => ({
    content: [{ type: "text", text: `Room ${room} is taken.` }],
    isError: true,
  }));
  return server;
}

import {
  Client,
  InMemoryTransport,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { UnauthorizedError as UnauthorizedErrorOfVersion1 } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as ClientOfVersion1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpTransportOfVersion1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Server as ServerOfVersion1 } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { InMemoryTransport as TransportOfVersion1 } from "@modelcontextprotocol/sdk/inMemory.js";
import {
  AIAgent,
  type AgentCheckpointData,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  RollbackToolRegistry,
} from "agent-persistence";
import { type McpClient, mcpTools } from "agent-persistence/mcp";
import { scriptedModel, type ScriptedToolCall } from "agent-persistence/testing";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { BrokenGateway } from "./BrokenGateway.ts";
import { type Deed, testServer } from "./testServer.ts";

interface AsyncClosable {
  close(): Promise<void>;
}

/** A server that never responds to a call. `progress` reports progress of the last call. */
async function silentServer(version: 1 | 2) {
  const server = new ServerOfVersion1({ name: "s", version: "1" }, { capabilities: { tools: {} } });
  const calls: (string | number | undefined)[] = [];
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [{ name: "book", inputSchema: { type: "object" } }],
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    calls.push(params._meta?.progressToken);
    return new Promise(() => undefined);
  });
  const [ours, theirs] = TransportOfVersion1.createLinkedPair();
  await server.connect(theirs);
  const about = { name: "client", version: "1" };
  const client = version === 1 ? new ClientOfVersion1(about) : new Client(about);
  await client.connect(ours as never);
  const progress = () =>
    server.notification({
      method: "notifications/progress",
      params: { progressToken: calls.at(-1) ?? -1, progress: 1 },
    });
  return { client: client as McpClient, calls, progress };
}

interface Desk {
  readonly client: McpClient;
  readonly deeds: Deed[];
  /** Ends the connection, as a server that dies. */
  readonly cut: () => Promise<void>;
}

async function desk(version: 1 | 2 = 2, onDeed: () => void | Promise<void> = () => {}): Promise<Desk> {
  const deeds: Deed[] = [];
  const server = testServer({
    onDeed: async (deed) => {
      deeds.push(deed);
      await onDeed();
    },
  });
  const [ours, theirs] = version === 2 ? InMemoryTransport.createLinkedPair() : TransportOfVersion1.createLinkedPair();
  await server.connect(theirs as InMemoryTransport);
  const client =
    version === 2 ? new Client({ name: "a", version: "1" }) : new ClientOfVersion1({ name: "a", version: "1" });
  await client.connect(ours as never);
  return { client, deeds, cut: () => server.close() };
}

async function results(
  { client }: Pick<Desk, "client">,
  calls: readonly ScriptedToolCall[],
  options?: Parameters<typeof mcpTools>[1],
): Promise<unknown[]> {
  const promptExecutor = scriptedModel([{ toolCalls: calls }, "done"]);
  const agent = new AIAgent({ promptExecutor, llmModel: "m", tools: await mcpTools(client, options) });
  agent.install(Persistence, { storage: new InMemoryPersistenceStorageProvider() });
  await agent.run("go", { agentId: "a" });
  const head = await persistence(agent).agent("a").getLatestCheckpoint();
  return outputsIn(head);
}

/** The results that the model got: the output, and an error as `{ error }`. */
function outputsIn(head: AgentCheckpointData | undefined): unknown[] {
  const parts = (head?.messageHistory ?? []).flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return parts.flatMap((part) =>
    part.type === "tool-result" ? [part.isError ? { error: part.output } : part.output] : [],
  );
}

describe("tools of an MCP server", () => {
  it("get their effect, danger and schema from the server", async () => {
    const { client } = await desk();
    const tools = await mcpTools(client, { prefix: "desk_" });
    expect(tools.map(({ name, effect, dangerous, externalApi }) => ({ name, effect, dangerous, externalApi }))).toEqual(
      [
        { name: "desk_rooms_list", effect: "none", dangerous: false, externalApi: true },
        { name: "desk_tag", effect: "idempotent", dangerous: false, externalApi: true },
        { name: "desk_book", effect: "irreversible", dangerous: true, externalApi: true },
        { name: "desk_photo", effect: "irreversible", dangerous: true, externalApi: true },
        { name: "desk_refuse", effect: "irreversible", dangerous: true, externalApi: true },
      ],
    );
    const book = tools.find(({ name }) => name === "desk_book");
    expect(z.toJSONSchema(book?.inputSchema as z.ZodType, { io: "input", target: "draft-7" })).toMatchObject({
      type: "object",
      properties: { room: { type: "string", description: "The number of the room." } },
      required: ["room"],
    });
  });

  it("have the settings of the user instead of the annotations", async () => {
    const { client } = await desk();
    const settings = {
      effect: "reversible",
      dangerous: false,
      timeoutMs: 5,
      needsApproval: true,
      name: "reserve",
    } as const;
    const tools = await mcpTools(client, { prefix: "desk_", tools: { book: settings } });
    expect(tools.find(({ name }) => name === "reserve")).toMatchObject(settings);
  });

  it.each([1, 2] as const)(
    "return structured content, text or content, with version %i of the client",
    async (version) => {
      const one = await desk(version);
      const calls = ["rooms_list", "book", "photo", "refuse"].map((toolName) => ({
        toolName,
        input: toolName === "rooms_list" ? {} : { room: "7" },
      }));
      expect(await results(one, calls)).toMatchObject([
        { free: 2 },
        "book 7",
        [{ type: "text", text: "A room." }, { type: "image" }],
        { error: "Room 7 is taken." },
      ]);
      expect(one.deeds).toEqual([{ tool: "book", id: expect.stringMatching(/./) }]);
    },
  );

  it("report to the model which input the server refuses", async () => {
    const [output] = await results(await desk(), [{ toolName: "book", input: { floor: 1 } }]);
    expect(output).toMatchObject({ error: expect.stringContaining("room") });
  });

  it.each([1, 2] as const)(
    "have an unknown outcome when the connection is lost in a call, with version %i of the client",
    async (version) => {
      let cut = async () => {};
      const one = await desk(version, () => cut());
      cut = one.cut;
      expect(await results(one, [{ toolName: "book", input: { room: "7" } }])).toMatchObject([
        { error: expect.stringContaining("It is not known whether this call had its effect") },
      ]);
      expect(one.deeds).toHaveLength(1);
    },
  );

  it("fail when the connection is lost in a call that is safe to repeat", async () => {
    let cut = async () => {};
    const one = await desk(2, () => cut());
    cut = one.cut;
    expect(await results(one, [{ toolName: "tag", input: { room: "7" } }])).toMatchObject([
      { error: expect.stringContaining("Connection closed") },
    ]);
  });

  it("are reverted if the connection was lost in a call that is safe to repeat", async () => {
    const rows = new Set<unknown>();
    let calls = 0;
    const client: McpClient = {
      listTools: async () => ({ tools: [{ name: "tag", inputSchema: {}, annotations: { idempotentHint: true } }] }),
      callTool: async ({ _meta }: { readonly _meta?: Record<string, unknown> }) => {
        rows.add(_meta?.["agent-persistence/toolCallId"]);
        if (calls++ === 0) throw Object.assign(new Error("Connection closed"), { code: -32_000 });
        return {};
      },
    };
    const tools = await mcpTools(client);
    const rollbackToolRegistry = new RollbackToolRegistry();
    for (const tag of tools)
      rollbackToolRegistry.registerRollback(tag, (_input, call) => void rows.delete(call.toolCallId));
    const promptExecutor = scriptedModel([{ toolCalls: [{ toolName: "tag", input: {} }] }, "done"]);
    const agent = new AIAgent({ id: "a", promptExecutor, llmModel: "m", tools });
    agent.install(Persistence, { storage: new InMemoryPersistenceStorageProvider(), rollbackToolRegistry });
    await agent.run("go");
    expect(rows.size).toBe(1);
    const durable = persistence(agent).agent("a");
    const [start] = await durable.getCheckpoints();
    const { reverted } = await durable.rollbackToCheckpoint(start!.checkpointId);
    expect(reverted).toMatchObject([{ toolName: "tag" }]);
    expect(rows.size).toBe(0);
  });

  it.each([1, 2] as const)("fail without a connection, with version %i of the client", async (version) => {
    const one = await desk(version);
    const tools = await mcpTools(one.client);
    await one.cut();
    const promptExecutor = scriptedModel([{ toolCalls: [{ toolName: "book", input: { room: "7" } }] }, "done"]);
    const agent = new AIAgent({ promptExecutor, llmModel: "m", tools });
    agent.install(Persistence, { storage: new InMemoryPersistenceStorageProvider() });
    await agent.run("go", { agentId: "a" });
    expect(outputsIn(await persistence(agent).agent("a").getLatestCheckpoint())).toEqual([{ error: "Not connected" }]);
    expect(one.deeds).toEqual([]);
  });

  const page = (names: readonly string[], nextCursor?: string) => ({
    tools: names.map((name) => ({ name, inputSchema: { type: "object" } })),
    ...(nextCursor !== undefined && { nextCursor }),
  });
  const listing = (pages: (cursor?: string) => object): McpClient => ({
    listTools: async ({ cursor } = {}) => pages(cursor) as never,
    callTool: async () => ({}),
  });

  it("report the texts of an error that has other content as well", async () => {
    const content = [
      { type: "text", text: "Room 7 is taken." },
      { type: "image" },
      { type: "text", text: "See the plan." },
    ];
    const client: McpClient = { ...listing(() => page(["book"])), callTool: async () => ({ isError: true, content }) };
    expect(await results({ client }, [{ toolName: "book", input: {} }])).toEqual([
      { error: "Room 7 is taken.\nSee the plan." },
    ]);
  });

  it("have no time limit of the client if their own limit is Infinity", async () => {
    const given: object[] = [];
    const callTool = async (_params: object, options: object) => given.push(options) && {};
    const client: McpClient = { ...listing(() => page(["book"])), callTool };
    await results({ client }, [{ toolName: "book", input: {} }], { tools: { book: { timeoutMs: Infinity } } });
    expect(given).toEqual([{ signal: expect.any(AbortSignal), timeout: 2 ** 31 - 1 }]);
  });

  it("have the time limit of the agent and not that of the client", async () => {
    let given: { readonly timeout?: number; readonly signal?: AbortSignal } = {};
    const client: McpClient = {
      ...listing(() => page(["book"])),
      callTool: async (_params: object, options: typeof given) => {
        given = options;
        await new Promise((_resolve, reject) =>
          options.signal?.addEventListener("abort", () => reject(new Error("late"))),
        );
        return {};
      },
    };
    const options = { tools: { book: { timeoutMs: 1 } } };
    expect(await results({ client }, [{ toolName: "book", input: {} }], options)).toEqual([
      { error: expect.stringContaining("did not end within 1 ms") },
    ]);
    expect(given.timeout).toBe(2 ** 31 - 1);
  });

  it.each([1, 2] as const)(
    "have an unknown outcome after ten minutes without a response or progress, with version %i of the client",
    async (version) => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      try {
        const { client, calls, progress } = await silentServer(version);
        let isOver = false;
        const ended = results({ client }, [{ toolName: "book", input: {} }]).finally(() => (isOver = true));
        await vi.waitUntil(() => calls.length === 1);
        await vi.advanceTimersByTimeAsync(599_000);
        await progress();
        await vi.advanceTimersByTimeAsync(599_000);
        expect(isOver).toBe(false);
        await vi.advanceTimersByTimeAsync(2_000);
        expect(await ended).toMatchObject([
          { error: expect.stringContaining("It is not known whether this call had its effect") },
        ]);
      } finally {
        vi.useRealTimers();
      }
    },
  );

  it.each([1, 2] as const)(
    "are reverted by other tools of the server, found by name, with version %i of the client",
    async (version) => {
      const storage = new InMemoryPersistenceStorageProvider();
      /** An agent of a process with its own connection. */
      const connected = async () => {
        const { client, deeds } = await desk(version);
        const tools = await mcpTools(client);
        const named = (name: string) => tools.find((tool) => tool.name === name) ?? expect.unreachable();
        const rollbackToolRegistry = new RollbackToolRegistry().registerRollback(named("book"), named("tag"));
        const calls = ["7", "8"].map((room) => ({ toolName: "book", input: { room } }));
        const promptExecutor = scriptedModel([{ toolCalls: calls }, "done"]);
        const agent = new AIAgent({ promptExecutor, llmModel: "m", tools });
        return { deeds, agent: agent.install(Persistence, { storage, rollbackToolRegistry }) };
      };
      const first = await connected();
      await first.agent.run("go", { agentId: "a" });
      const later = await connected();
      const durable = persistence(later.agent).agent("a");
      const [start] = await durable.getCheckpoints();
      const { reverted } = await durable.rollbackToCheckpoint(start!.checkpointId);
      expect(reverted.map(({ toolName }) => toolName)).toEqual(["book", "book"]);
      expect(first.deeds.map(({ tool }) => tool)).toEqual(["book", "book"]);
      expect(later.deeds.map(({ tool }) => tool)).toEqual(["tag", "tag"]);
      const ids = [...first.deeds, ...later.deeds].map(({ id }) => id);
      expect(new Set(ids).size).toBe(4);
    },
  );

  const connected = async (version: number, url: URL) => {
    const about = { name: "client", version: "1" };
    const [client, transport] =
      version === 1
        ? [new ClientOfVersion1(about), new HttpTransportOfVersion1(url)]
        : [new Client(about), new StreamableHTTPClientTransport(url)];
    await client.connect(transport as never);
    return client as McpClient & AsyncClosable;
  };
  const behindGateway = async (version: number, status: number) => {
    await using gateway = await BrokenGateway.start(status);
    const client = await connected(version, gateway.url);
    const [result] = await results({ client }, [{ toolName: "charge", input: {} }]);
    await client.close();
    return { result, effects: gateway.effects };
  };

  it.each([1, 2].flatMap((version) => [200, 500, 502, 504].map((status) => ({ version, status }))))(
    "have an unknown outcome when a gateway answers with $status after the effect, with version $version of the client",
    async ({ version, status }) => {
      expect(await behindGateway(version, status)).toMatchObject({
        result: { error: expect.stringContaining("It is not known whether this call had its effect") },
        effects: 1,
      });
    },
  );

  it.each([1, 2])("fail if no server accepts the connection, with version %i of the client", async (version) => {
    const gateway = await BrokenGateway.start(200);
    const client = await connected(version, gateway.url);
    const listed = await client.listTools();
    await gateway[Symbol.asyncDispose]();
    const lost: McpClient = { listTools: async () => listed, callTool: client.callTool.bind(client) };
    expect(await results({ client: lost }, [{ toolName: "charge", input: {} }])).toEqual([{ error: "fetch failed" }]);
    await client.close();
  });

  it.each([1, 2].flatMap((version) => [400, 401, 404, 429].map((status) => ({ version, status }))))(
    "fail when a gateway refuses the request with $status, with version $version of the client",
    async ({ version, status }) => {
      expect(await behindGateway(version, status)).toMatchObject({
        result: { error: expect.not.stringContaining("It is not known") },
      });
    },
  );

  it.each([UnauthorizedErrorOfVersion1, UnauthorizedError])(
    "fail when the server requires an authorization, with version %# of the client",
    async (Unauthorized) => {
      const client: McpClient = {
        listTools: async () => ({ tools: [{ name: "book", inputSchema: { type: "object" } }] }),
        callTool: async () => Promise.reject(new Unauthorized()),
      };
      expect(await results({ client }, [{ toolName: "book", input: {} }])).toEqual([{ error: "Unauthorized" }]);
    },
  );

  it.each([1, 2].flatMap((version) => [{}, { structuredContent: { id: "7" } }].map((answer) => ({ version, answer }))))(
    "have an unknown outcome if the output does not match the schema: $answer, with version $version of the client",
    async ({ version, answer }) => {
      const made: string[] = [];
      const server = new ServerOfVersion1({ name: "s", version: "1" }, { capabilities: { tools: {} } });
      const outputSchema = { type: "object", properties: { id: { type: "number" } }, required: ["id"] } as const;
      server.setRequestHandler(ListToolsRequestSchema, () => ({
        tools: [{ name: "book", inputSchema: { type: "object" as const }, outputSchema }],
      }));
      server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
        made.push(params.name);
        return { content: [], ...answer };
      });
      const [ours, theirs] = TransportOfVersion1.createLinkedPair();
      await server.connect(theirs);
      const about = { name: "client", version: "1" };
      const client = version === 1 ? new ClientOfVersion1(about) : new Client(about);
      await client.connect(ours as never);
      expect(await results({ client: client as McpClient }, [{ toolName: "book", input: {} }])).toMatchObject([
        { error: expect.stringContaining("It is not known whether this call had its effect") },
      ]);
      expect(made).toEqual(["book"]);
      await client.close();
    },
  );

  it("may have the name of a member of every object", async () => {
    const tools = await mcpTools(
      listing(() => page(["constructor"])),
      { prefix: "desk_", tools: {} },
    );
    expect(tools.map(({ name }) => name)).toEqual(["desk_constructor"]);
  });

  it("include the tools of every page of the server's list", async () => {
    const client = listing((cursor) => (cursor === undefined ? page(["a"], "2") : page(["b"])));
    expect((await mcpTools(client)).map(({ name }) => name)).toEqual(["a", "b"]);
  });

  it.each<[string, McpClient, object | undefined, string]>([
    ["an object without the methods", {} as never, undefined, "expected an object with listTools, callTool"],
    ["a misspelled option", listing(() => page([])), { prefixes: "a" }, 'did you mean "prefix"'],
    ["settings of no tool", listing(() => page(["book"])), { tools: { bok: {} } }, 'has no tool "bok"; it has "book"'],
    [
      "a misspelled setting",
      listing(() => page(["book"])),
      { tools: { book: { effects: "none" } } },
      'did you mean "effect"',
    ],
    [
      "a wrong effect",
      listing(() => page(["book"])),
      { tools: { book: { effect: "safe" } } },
      'at "tools.book.effect"',
    ],
    ["two tools of one name", listing(() => page(["a.b", "a/b"])), undefined, '"a.b" and "a/b" are both named "a_b"'],
    ["a name too long for models", listing(() => page(["a".repeat(65)])), undefined, "expected 1 to 64 letters"],
    ["a list without tools", listing(() => ({})), undefined, 'at "tools"'],
    ["a list without an end", listing((cursor) => page([], `${cursor}1`)), undefined, "at most 1000 pages"],
  ])("are refused: %s", async (_name, client, options, message) => {
    await expect(mcpTools(client, options)).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining(message),
    });
  });
});

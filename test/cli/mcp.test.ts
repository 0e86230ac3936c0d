import { PassThrough } from "node:stream";
import { Client, ReadBuffer, serializeMessage, type Transport } from "@modelcontextprotocol/client";
import { inspect } from "agent-persistence/inspect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Desk } from "./support/Desk.ts";
import type { Answered } from "./support/TestTerminal.ts";

/** The client's end of standard input and output. */
function transportOver(input: PassThrough, output: PassThrough): Transport {
  const buffer = new ReadBuffer();
  const transport: Transport = {
    async start() {
      output.on("data", (bytes: Buffer) => {
        buffer.append(bytes);
        for (let message = buffer.readMessage(); message !== null; message = buffer.readMessage())
          transport.onmessage?.(message);
      });
    },
    async send(message) {
      input.write(serializeMessage(message));
    },
    async close() {
      input.end();
      transport.onclose?.();
    },
  };
  return transport;
}

interface Served {
  readonly client: Client;
  readonly call: (name: string, input: Record<string, unknown>) => Promise<unknown>;
  readonly ended: Promise<Answered>;
}

/** The input schema of the tool `list_agents`. */
interface ListingSchema {
  readonly properties: { readonly status: { readonly items: { readonly enum: readonly string[] } } };
}

async function served(desk: Desk, args: readonly string[] = [], stop?: AbortSignal): Promise<Served> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const ended = desk.command(["mcp", ...args], { protocol: { input, output }, ...(stop && { stop }) });
  const client = new Client({ name: "assistant", version: "1.0.0" });
  await client.connect(transportOver(input, output));
  const call = async (name: string, given: Record<string, unknown>): Promise<unknown> => {
    const { content, isError } = await client.callTool({ name, arguments: given });
    const [part] = content;
    const text = part?.type === "text" ? part.text : "";
    return isError ? { refused: text } : JSON.parse(text);
  };
  return { client, call, ended };
}

describe("the MCP server", () => {
  let desk: Desk;

  beforeAll(async () => {
    desk = await Desk.open();
    await desk.waits("order-7");
    await desk.crashes("order-8");
  });
  afterAll(() => desk[Symbol.asyncDispose]());

  it("shows agents, and says why they wait", async () => {
    const { client, call, ended } = await served(desk);
    expect(await call("list_agents", { status: ["waiting"] })).toMatchObject({ agents: [{ agentId: "order-7" }] });
    const { tools } = await client.listTools();
    const listing = tools.find(({ name }) => name === "list_agents")?.inputSchema as unknown as ListingSchema;
    const { status } = listing.properties;
    expect(await call("list_agents", { status: status.items.enum })).toMatchObject({ agents: [{}, {}] });
    expect(await call("list_agents", { limit: 1 })).toMatchObject({ agents: [{}] });
    expect(await call("list_agents", { after: "order-7" })).toEqual({ refused: expect.stringContaining("no cursor") });
    expect(await call("show_agent", { agentId: "order-8" })).toMatchObject({ agentId: "order-8", inDoubt: [{}, {}] });
    expect(await call("explain_agent", { agentId: "order-7" })).toMatchObject({
      status: "waiting",
      requests: [{ state: "open", kind: "approval" }],
    });
    const { head } = (await inspect(desk.storage).agent("order-7")) ?? {};
    const at = { agentId: "order-7", checkpointId: head?.checkpointId ?? "" };
    expect(await call("list_checkpoints", { agentId: "order-7", limit: 1 })).toMatchObject({
      checkpoints: [{ checkpointId: at.checkpointId }],
    });
    expect(await call("show_checkpoint", { ...at, messages: 1 })).toMatchObject({ messages: [{}] });
    expect(await call("preview_rollback", { ...at, checkpointId: "1-1" })).toMatchObject({
      target: { checkpointId: "1-1" },
    });
    expect(await call("show_agent", { agentId: "order-9" })).toEqual({ refused: expect.stringContaining("order-9") });
    expect(await call("preview_rollback", { ...at, checkpointId: "9-9" })).toEqual({
      refused: expect.stringMatching(/^\w+: .*9-9/),
    });
    await client.close();
    expect(await ended).toMatchObject({ code: 0, out: "" });
  });

  it("offers no tool that changes data without --allow-changes", async () => {
    const { client, ended } = await served(desk);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain("fork_agent");
    expect(tools.map(({ annotations }) => annotations?.readOnlyHint)).toEqual(tools.map(() => true));
    await client.close();
    await ended;
  });

  it("answers requests and forks agents with --allow-changes", async () => {
    const { client, call, ended } = await served(desk, ["--allow-changes"]);
    expect(await call("fork_agent", { agentId: "order-7", newAgentId: "order-7b" })).toEqual({
      agentId: "order-7b",
      forkOf: "order-7",
    });
    const explained = async () =>
      ((await call("explain_agent", { agentId: "order-7" })) as { requests: { requestId: string; digest: string }[] })
        .requests;
    const [request] = await explained();
    const { requestId = "", digest = "" } = request ?? {};
    expect(await call("answer_request", { requestId })).toEqual({
      refused: expect.stringContaining("Pass exactly one of"),
    });
    expect(await call("answer_request", { requestId, approved: true, reason: "no" })).toMatchObject({
      refused: expect.stringContaining("Pass exactly one of"),
    });
    expect(await call("answer_request", { requestId: "r", approved: true })).toEqual({
      refused: 'There is no open request "r".',
    });
    expect(await call("answer_request", { requestId, approved: true })).toEqual({
      refused: expect.stringContaining("digest"),
    });
    expect(await call("answer_request", { requestId, answer: { approved: true }, digest: "of another call" })).toEqual({
      refused: expect.stringContaining("approval_changed"),
    });
    expect(await explained()).toHaveLength(1);
    expect(await call("answer_request", { requestId, approved: true, digest })).toMatchObject({
      answer: { approved: true },
    });
    expect(await explained()).toEqual([]);
    let entries = "";
    for await (const entry of inspect(desk.storage).records("order-7")) entries += JSON.stringify(entry);
    expect(entries).toContain('"mcp:assistant"');
    await client.close();
    expect(await ended).toMatchObject({ code: 0 });
  });

  it("names the damage of a log of which only the beginning is shown", async () => {
    await using damaged = await Desk.open();
    await damaged.completes("order-1");
    await damaged.damage("order-1", 0.97);
    const { client, call, ended } = await served(damaged);
    const at = { agentId: "order-1", checkpointId: "1-1" };
    for (const [name, input] of [
      ["list_checkpoints", { agentId: "order-1" }],
      ["show_checkpoint", at],
      ["preview_rollback", at],
    ] as const)
      expect(await call(name, input)).toMatchObject({ damage: [{ code: "corrupt_log" }] });
    await client.close();
    await ended;
  });

  it("ends when it is stopped", async () => {
    const stop = new AbortController();
    const { ended } = await served(desk, [], stop.signal);
    stop.abort();
    expect(await ended).toMatchObject({ code: 130 });
  });
});

import { DurableObject } from "cloudflare:workers";
import { AIAgent, Persistence, persistence, RollbackToolRegistry, tool } from "agent-persistence";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import { scriptedModel } from "agent-persistence/testing";
import { z } from "zod";
import { DurableObjectDatabase } from "./DurableObjectDatabase.mjs";

const names = ["Alex", "Daniel", "Maria"];

/** One agent and the people that it signed up, in the SQLite of one Durable Object. */
export class AgentObject extends DurableObject {
  #storage;

  constructor(state, env) {
    super(state, env);
    state.storage.sql.exec("CREATE TABLE IF NOT EXISTS people (id TEXT PRIMARY KEY, name TEXT NOT NULL)");
    const instance = crypto.randomUUID();
    this.#storage = new SqlitePersistenceStorageProvider({
      database: new DurableObjectDatabase(state),
      // A Durable Object has one instance at a time, so every other one has ended.
      processIdentity: {
        host: "durable-object",
        bootId: state.id.toString(),
        pidNamespace: "",
        processId: 0,
        processStart: instance,
        isRunning: (_processId, processStart) => processStart === instance,
      },
    });
  }

  async run(hangsAt) {
    const { output } = await this.#agent(hangsAt).run("Sign them up.", { agentId: "team", runId: "monday" });
    return { output, people: this.#people() };
  }

  async rollback() {
    const durable = persistence(this.#agent()).agent("team");
    const [first] = await durable.getCheckpoints();
    const { reverted } = await durable.rollbackToCheckpoint(first.checkpointId);
    return { reverted: reverted.length, people: this.#people() };
  }

  #people() {
    return this.ctx.storage.sql
      .exec("SELECT name FROM people ORDER BY name")
      .toArray()
      .map(({ name }) => name);
  }

  #agent(hangsAt) {
    const { sql } = this.ctx.storage;
    const signUp = tool({
      name: "signUp",
      description: "Signs a person up.",
      inputSchema: z.object({ name: z.string() }),
      effect: "idempotent",
      execute: async ({ name }, { toolCallId }) => {
        sql.exec("INSERT OR IGNORE INTO people (id, name) VALUES (?, ?)", toolCallId, name);
        if (name !== hangsAt) return;
        await this.ctx.storage.sync();
        console.log("hanging");
        await scheduler.wait(600_000);
      },
    });
    const inverse = (_input, { toolCallId }) => void sql.exec("DELETE FROM people WHERE id = ?", toolCallId);
    const rollbackToolRegistry = new RollbackToolRegistry().registerRollback(signUp, inverse, { effect: "idempotent" });
    const calls = names.map((name) => ({ toolCalls: [{ toolName: "signUp", input: { name } }] }));
    const agent = new AIAgent({
      promptExecutor: scriptedModel([...calls, "Done."]),
      llmModel: "scripted",
      tools: [signUp],
    });
    return agent.install(Persistence, { storage: this.#storage, rollbackToolRegistry });
  }
}

export default {
  async fetch(request, { AGENTS }) {
    const { pathname, searchParams } = new URL(request.url);
    const object = AGENTS.get(AGENTS.idFromName("team"));
    if (pathname === "/rollback") return Response.json(await object.rollback());
    return Response.json(await object.run(searchParams.get("hangsAt") ?? undefined));
  },
};

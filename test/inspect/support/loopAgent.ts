import { AIAgent, Persistence, type PersistenceStorageProvider, RollbackToolRegistry } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { World } from "../../persistence/support/World.ts";

/** The default loop: one answer asks for three calls at once, of which the last fails; then it is done. */
export function loopAgent(storage: PersistenceStorageProvider, world = new World()): AIAgent<string, string> {
  const add = world.adder("add");
  const send = world.adder("send", "irreversible");
  const registry = new RollbackToolRegistry().registerRollback(add, ({ item }, { toolCallId }) =>
    world.remove(toolCallId, item),
  );
  const toolCalls = [
    { toolName: "add", input: { item: "x" } },
    { toolName: "send", input: { item: "y" } },
    { toolName: "bad", input: { item: "z" } },
  ];
  return new AIAgent({
    id: "a",
    llmModel: "scripted",
    systemPrompt: "be short",
    tools: [add, send, world.failing("bad")],
    promptExecutor: scriptedModel([{ toolCalls }, "done"]),
  }).install(Persistence, { storage, rollbackToolRegistry: registry });
}

import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence, strategy } from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import { ConflictResolver, resolveInRun, type ConflictQuestion } from "agent-persistence/workspace";
import { expect, it } from "vitest";
import { TestRepository } from "../git/repositories.ts";

it("resolveInRun gets the intents of both sides and records who resolved the conflict", async () => {
  const origin = TestRepository.create();
  origin.commit({ "a.txt": "base\n", "b.txt": "b\n" });
  const ours = origin.clone();
  origin.commit({ "a.txt": "theirs\n" }, "Speak of others");
  origin.commit({ "b.txt": "theirs\n" }, "Not about a");
  ours.git("fetch", "--quiet");
  const questions: ConflictQuestion[] = [];
  const askPerson = (question: ConflictQuestion) => {
    questions.push(question);
    return "both\n";
  };
  const conflict = { path: "a.txt", base: "base\n", ours: "ours\n", theirs: "theirs\n" };
  const work = strategy<string, string>("work", (graph) => {
    const decide = graph.node("decide", (input: string, context) => {
      context.llm.append({ role: "user", content: input });
      context.recordDecision({ decision: "speak of us" });
      return Promise.resolve(input);
    });
    const settle = graph.node("settle", async (_input: string, context) => {
      const outcome = await resolveInRun(context, new ConflictResolver({ askPerson }), conflict, { root: ours.root });
      return outcome.resolved ? outcome.text : "";
    });
    graph.edge(graph.start, decide);
    graph.edge(decide, settle);
    graph.edge(settle, graph.finish);
  });
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "m", strategy: work });
  agent.install(Persistence, { storage });
  expect(await agent.run("Make it warmer", { agentId: "a" })).toMatchObject({ output: "both\n" });
  expect(questions).toMatchObject([
    { conflict: { agentIntent: "Make it warmer\nspeak of us", externalIntent: "Speak of others" } },
  ]);
  const latest = await persistence(agent).agent("a").getLatestCheckpoint();
  expect(latest?.decisions.at(-1)).toMatchObject({
    decision: "conflict in a.txt: settled by person",
    reason: "merge: both sides changed the same lines",
  });
});

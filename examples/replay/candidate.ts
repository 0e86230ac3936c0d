import { AIAgent, Persistence, tool } from "agent-persistence";
import { z } from "zod";
import { agentId } from "../user-import/agent.ts";
import type { UserDatabase } from "../user-import/database.ts";
import { importModel } from "../user-import/model.ts";
import { Person } from "../user-import/people.ts";
import { importTools } from "../user-import/tools.ts";

const systemPrompt = `You import people into our user database.
List them page by page with listPeople, and sign up each person of the file exactly once with signUp, all those of a page
before you list the next. Leave out everybody whose name ends with "Jr.", and give cities without what follows a comma. When all are signed up, say so in one sentence.`;

/** The changed tool refuses a city with a comma. */
const signUp = tool({
  name: "signUp",
  description: "Signs one person up, with name, email and city. A city has no comma.",
  inputSchema: Person.extend({ city: z.string().regex(/^[^,]*$/) }),
  effect: "idempotent",
  execute: (): Promise<{ id: number }> => Promise.reject(new Error("A replay executes no tool with an effect.")),
});

/** The agent of the import with another system prompt and another tool. The script of its model follows the prompt. */
export function candidate(csvFile: string, database: UserDatabase): AIAgent {
  const [listPeople] = importTools({ csvFile, database }).tools;
  const { name, promptExecutor } = importModel(csvFile, (person) =>
    person.name.endsWith("Jr.") ? undefined : { ...person, city: person.city.split(",")[0] ?? "" },
  );
  return new AIAgent({
    id: agentId,
    promptExecutor,
    llmModel: name,
    systemPrompt,
    tools: [listPeople, signUp],
    maxIterations: 10_000,
  }).install(Persistence);
}

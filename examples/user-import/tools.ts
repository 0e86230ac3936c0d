import { RollbackToolRegistry, tool } from "agent-persistence";
import { z } from "zod";
import type { SignUp, UserDatabase } from "./database.ts";
import { Person, readPeople } from "./people.ts";

export interface ToolOptions {
  readonly csvFile: string;
  readonly database: UserDatabase;
  /** Called with each sign-up once it is in the database, before the agent gets the result. */
  readonly onSignUp?: (signUp: SignUp) => void | Promise<void>;
}

export function importTools({ csvFile, database, onSignUp }: ToolOptions) {
  const listPeople = tool({
    name: "listPeople",
    description: "People of the CSV file, from the given row on (0 is the first). `total` says how many there are.",
    inputSchema: z.object({ from: z.int().min(0), count: z.int().min(1).max(50) }),
    effect: "none",
    execute: ({ from, count }) => {
      const people = readPeople(csvFile);
      return { people: people.slice(from, from + count), total: people.length };
    },
  });

  const signUp = tool({
    name: "signUp",
    description: "Signs one person up, with name, email and city exactly as listed.",
    inputSchema: Person,
    // A crash between the insert and its record leaves the call in doubt. It may simply run again: it keeps its id, and
    // the database knows that id.
    effect: "idempotent",
    execute: async (person, { toolCallId }) => {
      const signUp = database.add(person, toolCallId);
      await onSignUp?.(signUp);
      return { id: signUp.user.id };
    },
  });

  const rollbackToolRegistry = new RollbackToolRegistry().registerRollback(
    signUp,
    (_person, { toolCallId }) => database.remove(toolCallId),
    // Removing by the id of the call twice equals removing once: a removal that a crash interrupted runs again.
    { effect: "idempotent" },
  );
  return { tools: [listPeople, signUp] as const, rollbackToolRegistry };
}

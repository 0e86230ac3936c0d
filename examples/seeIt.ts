import { basename, join } from "node:path";

/** Where the command line finds the agents of an example. @param storage as in `openStorage`. */
export function addressOf(storage: string, directory: string): string {
  if (storage === "sqlite") return `sqlite:${join(directory, "agent", "agents.db")}`;
  const name = `example_${basename(directory).toLowerCase().replaceAll(/\W/g, "_")}`;
  // The shell puts the address in, so that no password is shown.
  if (storage === "postgres") return `"$DATABASE_URL?schema=${name}"`;
  const endpoint = process.env["DYNAMODB_ENDPOINT"];
  if (storage === "dynamodb")
    return `"dynamodb:${name}${endpoint === undefined ? "" : `?region=us-east-1&endpoint=${endpoint}`}"`;
  return `file:${join(directory, "agent")}`;
}

/** The line that says which command shows what an agent did. */
export function seeIt(agentId: string, address: string): string {
  return `See what it did: npx agent-persistence tree ${agentId} --storage ${address}`;
}

/** The line that says which command shows the records of a thread of LangGraph: those for trees and timelines know agents only. */
export function seeThread(threadId: string, address: string): string {
  return `See what it did: npx agent-persistence log thread:${threadId} --storage ${address}`;
}

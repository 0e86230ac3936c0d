import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { dynamoDBEndpoint } from "../storage/dynamodb/localDynamoDB.ts";
import { PostgresServer } from "../storage/postgres/server/PostgresServer.ts";

/**
 * Runs `check.ts` of every folder in `examples`: it runs its example, asserts what the example claims, and fails with
 * an exit code other than 0. A folder without a check fails too, so that no example can rot unseen. A Postgres and a
 * DynamoDB are started for them, unless `DATABASE_URL` and `DYNAMODB_ENDPOINT` say where there are others. Two run at a
 * time, each in folders, schemas and tables of its own.
 */
const examples = fileURLToPath(new URL("../../examples/", import.meta.url));
const names = readdirSync(examples, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .toSorted();

const { DATABASE_URL: given } = process.env;
const postgres = given === undefined ? await PostgresServer.start() : undefined;
const servers = { DATABASE_URL: postgres?.url ?? given, DYNAMODB_ENDPOINT: await dynamoDBEndpoint() };
const failed: string[] = [];
const waiting = names.values();
await Promise.all([runNext(), runNext()]);
await postgres?.stop();
console.log(`examples: ${names.length - failed.length} passed, ${failed.length} failed ${failed.join(" ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;

async function runNext(): Promise<void> {
  for (const name of waiting) if (!(await passes(name))) failed.push(name);
}

async function passes(name: string): Promise<boolean> {
  const check = `${examples}${name}/check.ts`;
  if (!existsSync(check)) {
    console.error(`examples/${name}: there is no check.ts`);
    return false;
  }
  const env = { ...process.env, ...servers };
  const child = spawn(process.execPath, ["--import", "tsx", check], { env, stdio: ["ignore", "pipe", "pipe"] });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece: Buffer) => void output.push(piece));
  const [code] = await once(child, "close");
  console.log(`examples/${name}\n${Buffer.concat(output).toString()}`);
  return code === 0;
}

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { dynamoDBEndpoint } from "../storage/dynamodb/localDynamoDB.ts";
import { PostgresServer } from "../storage/postgres/server/PostgresServer.ts";

/**
 * Runs `check.ts` of every folder in `examples`: it runs its example, asserts what the example claims, and fails with
 * an exit code other than 0. A folder without a check fails too, so that no example can rot unseen. A Postgres and a
 * DynamoDB are started for them, unless `DATABASE_URL` and `DYNAMODB_ENDPOINT` say where there are others.
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
for (const name of names) if (!(await passes(name))) failed.push(name);
await postgres?.stop();
console.log(`examples: ${names.length - failed.length} passed, ${failed.length} failed ${failed.join(" ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;

async function passes(name: string): Promise<boolean> {
  const check = `${examples}${name}/check.ts`;
  if (!existsSync(check)) {
    console.error(`examples/${name}: there is no check.ts`);
    return false;
  }
  console.log(`examples/${name}`);
  const env = { ...process.env, ...servers };
  const child = spawn(process.execPath, ["--import", "tsx", check], { env, stdio: ["ignore", "inherit", "inherit"] });
  const [code] = await once(child, "exit");
  return code === 0;
}

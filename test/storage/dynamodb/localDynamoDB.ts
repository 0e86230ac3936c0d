import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import type { DynamoDB } from "@aws-sdk/client-dynamodb";
import { dynamoDBTable } from "agent-persistence/dynamodb";
import dynalite from "dynalite";
import { clientOf } from "./clientOf.ts";

let endpoint: Promise<string> | undefined;
let client: DynamoDB | undefined;

/** A server for all tests of one worker, which ends with it; or the one that `DYNAMODB_ENDPOINT` names. */
export function dynamoDBEndpoint(): Promise<string> {
  const given = process.env["DYNAMODB_ENDPOINT"];
  endpoint ??= given === undefined ? listen() : Promise.resolve(given);
  return endpoint;
}

/** A client of that server. */
export async function localDynamoDB(): Promise<DynamoDB> {
  client ??= clientOf(await dynamoDBEndpoint());
  return client;
}

/** The name of a table that no other test has. A server takes requests once it calls the table active, which takes a while. */
export async function newTable(): Promise<string> {
  const tableName = `agents-${randomUUID()}`;
  const database = await localDynamoDB();
  let { TableDescription: table } = await database.createTable(dynamoDBTable({ tableName }));
  while (table?.TableStatus !== "ACTIVE") ({ Table: table } = await database.describeTable({ TableName: tableName }));
  return tableName;
}

function listen(): Promise<string> {
  const server = dynalite({ createTableMs: 0 });
  // A connection that ends while nobody uses it would fail a request that does.
  server.keepAliveTimeout = 0;
  server.on("connection", (socket) => socket.unref());
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      server.unref();
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    });
  });
}

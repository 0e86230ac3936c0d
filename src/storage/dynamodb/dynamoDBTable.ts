import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";

/** Options of {@link dynamoDBTable}. */
export interface DynamoDBTableOptions {
  readonly tableName: string;
}

/** The input for `createTable` of the SDK. */
export interface DynamoDBTableDefinition {
  TableName: string;
  AttributeDefinitions: { AttributeName: string; AttributeType: "S" | "B" }[];
  KeySchema: { AttributeName: string; KeyType: "HASH" | "RANGE" }[];
  BillingMode: "PAY_PER_REQUEST";
}

const optionsSchema = strictOptions(() => ({ tableName: nonEmptyString }));

/**
 * Returns the table definition for `createTable` or for infrastructure code. The table has a partition key `pk` of type
 * string, a sort key `sk` of type binary, and no index. Add further settings such as tags or encryption.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 */
export function dynamoDBTable(options: DynamoDBTableOptions): DynamoDBTableDefinition {
  checkSchema(optionsSchema, options, "options of the DynamoDB table");
  return {
    TableName: options.tableName,
    AttributeDefinitions: [
      { AttributeName: "pk", AttributeType: "S" },
      { AttributeName: "sk", AttributeType: "B" },
    ],
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
    BillingMode: "PAY_PER_REQUEST",
  };
}

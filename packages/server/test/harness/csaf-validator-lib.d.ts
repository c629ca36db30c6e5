/** Types of the parts of the package that tests use. */
declare module "@secvisogram/csaf-validator-lib/schemaTests.js" {
  export const csaf_2_0: (document: unknown) => unknown;
}

declare module "@secvisogram/csaf-validator-lib/mandatoryTests.js" {
  export const mandatoryTest_6_1_1: (document: unknown) => unknown;
}

declare module "@secvisogram/csaf-validator-lib/validate.js" {
  type Test = (document: unknown) => unknown;
  interface Outcome {
    readonly isValid: boolean;
    readonly tests: readonly { readonly name: string; readonly isValid: boolean; readonly errors: readonly object[] }[];
  }
  export default function validate(tests: readonly Test[], document: unknown): Promise<Outcome>;
}

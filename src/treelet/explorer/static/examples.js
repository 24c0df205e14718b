// Examples, which are also the initial content of the page, unless the user has passed trees or a grammar.

const TELESCOPE = "(S (NP (PRP She)) (VP (VBD saw) (NP (DT the) (NN man)) (PP (IN with) (NP (DT a) (NN telescope)))))";

export const EXAMPLES = {
  trees: [
    {
      name: "Who has the telescope?",
      fields: {
        a: TELESCOPE,
        b: "(S (NP (PRP She)) (VP (VBD saw) (NP (NP (DT the) (NN man)) (PP (IN with) (NP (DT a) (NN telescope))))))",
      },
    },
    {
      name: "Different object",
      fields: {
        a: "(S (NP (DT the) (NN cat)) (VP (VBZ chases) (NP (DT a) (NN mouse))))",
        b: "(S (NP (DT the) (NN cat)) (VP (VBZ chases) (NP (DT a) (NN bird))))",
      },
    },
    {
      name: "Two questions",
      fields: {
        a: "(SBARQ (WHNP (WP What)) (SQ (VBZ is) (NP (NP (DT the) (NN capital)) (PP (IN of) (NP (NNP Finland))))) (. ?))",
        b: "(SBARQ (WHNP (WP Who)) (SQ (VBZ is) (NP (NP (DT the) (NN author)) (PP (IN of) (NP (NNP Faust))))) (. ?))",
      },
    },
    {
      name: "Active and passive",
      fields: {
        a: "(S (NP (NNP Mary)) (VP (VBD wrote) (NP (DT the) (NN letter))))",
        b: "(S (NP (DT the) (NN letter)) (VP (VBD was) (VP (VBN written) (PP (IN by) (NP (NNP Mary))))))",
      },
    },
  ],
  sentences: [
    "i want to reserve a seat on a flight from boston to denver",
    "show me the cheap flights to dallas on friday with a meal",
    "which airlines have flights from atlanta in the morning",
  ],
};

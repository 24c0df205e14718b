"""Complete tasks, from data to a measured result: reranking of parses, semantic roles and relations, and clones in source code."""

from treelet.tasks.check import check_clones as check_clones
from treelet.tasks.clone_report import CloneFamily as CloneFamily
from treelet.tasks.clone_report import CloneMember as CloneMember
from treelet.tasks.clone_report import CloneReport as CloneReport
from treelet.tasks.clone_report import LineDifference as LineDifference
from treelet.tasks.clones import find_clones as find_clones
from treelet.tasks.dependency_ranking import KernelChoice as KernelChoice
from treelet.tasks.dependency_ranking import ParsedSentence as ParsedSentence
from treelet.tasks.dependency_ranking import ParseLists as ParseLists
from treelet.tasks.dependency_ranking import ParseRanker as ParseRanker
from treelet.tasks.rerank_job import CandidateSplit as CandidateSplit
from treelet.tasks.rerank_job import Outcome as Outcome
from treelet.tasks.rerank_job import Setting as Setting
from treelet.tasks.rerank_job import parts_of_lists as parts_of_lists
from treelet.tasks.rerank_job import parts_of_treebank as parts_of_treebank
from treelet.tasks.rerank_job import rerank as rerank
from treelet.tasks.reranking import CandidateParses as CandidateParses
from treelet.tasks.reranking import Reranker as Reranker
from treelet.tasks.reranking import reranking_kernel as reranking_kernel
from treelet.tasks.role_kernels import composite as composite
from treelet.tasks.role_kernels import hybrid as hybrid
from treelet.tasks.role_kernels import relation_table as relation_table
from treelet.tasks.role_kernels import role_table as role_table

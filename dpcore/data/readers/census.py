"""census: people of the US Current Population Survey 1994-95, 513 features, as in the 2012 paper.

The code book is the official census-income.names: 33 nominal columns with 495 levels, and the
missing value "?" in the eight columns that have it: 503. Guessed: all 8 numbers, the instance
weight too, and the income class spread over its two levels: 503 + 8 + 2 = 513. The income class
is the label, so that a classifier that reads those two columns is told the answer
(`Dataset.label_columns`); the paper reports no classification for this set. The scales are
guesses too: years and weeks by their range, money by logarithm.
"""

from __future__ import annotations

from dpcore.data.dataset import Dataset
from dpcore.data.official import LocalFile, OfficialFile, read_lines
from dpcore.data.readers.code_books import Column, Nominal, Number, feature_names, read_table

_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/census-income-mld/"
CENSUS_FILE = OfficialFile("census-income.data.gz", url=_URL, most_bytes=120_000_000)
CENSUS_TEST = OfficialFile("census-income.test.gz", url=_URL, most_bytes=60_000_000)
CENSUS_HEAD = OfficialFile(
    "census-income.data.head1891.gz",
    most_bytes=986_005,
    content_sha256="9328da71bd403bd4d2fb88acf8df4efd17ec80c3bac9d3cab66a2ac5b9a6eec0",
)

_N_ROWS = 199_523
_N_TEST = 99_762
_N_HEAD = 1_891
_N_FIELDS = 42


def _nominal(name: str, position: int, levels: str) -> Nominal:
    return Nominal(name, position, tuple(levels.split("; ")))


def _codes(name: str, position: int, codes: range) -> Nominal:
    return Nominal(name, position, tuple(map(str, codes)))


def _money(name: str, position: int) -> Number:
    return Number(name, position, highest=99_999.0, logarithmic=True)


_COUNTRIES = (
    "?; Cambodia; Canada; China; Columbia; Cuba; Dominican-Republic; Ecuador; El-Salvador; "
    "England; France; Germany; Greece; Guatemala; Haiti; Holand-Netherlands; Honduras; Hong "
    "Kong; Hungary; India; Iran; Ireland; Italy; Jamaica; Japan; Laos; Mexico; Nicaragua; "
    "Outlying-U S (Guam USVI etc); Panama; Peru; Philippines; Poland; Portugal; "
    "Puerto-Rico; Scotland; South Korea; Taiwan; Thailand; Trinadad&Tobago; United-States; "
    "Vietnam; Yugoslavia"
)
_INCOME = _nominal("income", 41, "- 50000; 50000+")
# The Bureau's documentation of the survey top-codes ages at 90, hourly wages at 9,999 cents, and
# gives weeks to 52 and an employer's size in classes to 6; of amounts and weights none is at hand.
COLUMNS: tuple[Column, ...] = (
    Number("age", 0, highest=90.0, documented=True),
    _nominal(
        "class of worker",
        1,
        "Not in universe; Federal government; Local government; Never worked; Private; "
        "Self-employed-incorporated; Self-employed-not incorporated; State government; Without "
        "pay",
    ),
    _codes("detailed industry recode", 2, range(52)),
    _codes("detailed occupation recode", 3, range(47)),
    _nominal(
        "education",
        4,
        "Children; 7th and 8th grade; 9th grade; 10th grade; High school graduate; 11th grade; "
        "12th grade no diploma; 5th or 6th grade; Less than 1st grade; Bachelors degree(BA AB "
        "BS); 1st 2nd 3rd or 4th grade; Some college but no degree; Masters degree(MA MS MEng "
        "MEd MSW MBA); Associates degree-occup /vocational; Associates degree-academic program; "
        "Doctorate degree(PhD EdD); Prof school degree (MD DDS DVM LLB JD)",
    ),
    Number("wage per hour", 5, highest=9_999.0, documented=True),
    _nominal(
        "enroll in edu inst last wk",
        6,
        "Not in universe; High school; College or university",
    ),
    _nominal(
        "marital stat",
        7,
        "Never married; Married-civilian spouse present; Married-spouse absent; Separated; "
        "Divorced; Widowed; Married-A F spouse present",
    ),
    _nominal(
        "major industry code",
        8,
        "Not in universe or children; Entertainment; Social services; Agriculture; Education; "
        "Public administration; Manufacturing-durable goods; Manufacturing-nondurable goods; "
        "Wholesale trade; Retail trade; Finance insurance and real estate; Private household "
        "services; Business and repair services; Personal services except private HH; "
        "Construction; Medical except hospital; Other professional services; Transportation; "
        "Utilities and sanitary services; Mining; Communications; Hospital services; Forestry "
        "and fisheries; Armed Forces",
    ),
    _nominal(
        "major occupation code",
        9,
        "Not in universe; Professional specialty; Other service; Farming forestry and fishing; "
        "Sales; Adm support including clerical; Protective services; Handlers equip cleaners "
        "etc; Precision production craft & repair; Technicians and related support; Machine "
        "operators assmblrs & inspctrs; Transportation and material moving; Executive admin and "
        "managerial; Private household services; Armed Forces",
    ),
    _nominal(
        "race",
        10,
        "White; Black; Other; Amer Indian Aleut or Eskimo; Asian or Pacific Islander",
    ),
    _nominal(
        "hispanic origin",
        11,
        "Mexican (Mexicano); Mexican-American; Puerto Rican; Central or South American; All "
        "other; Other Spanish; Chicano; Cuban; Do not know; NA",
    ),
    _nominal("sex", 12, "Female; Male"),
    _nominal("member of a labor union", 13, "Not in universe; No; Yes"),
    _nominal(
        "reason for unemployment",
        14,
        "Not in universe; Re-entrant; Job loser - on layoff; New entrant; Job leaver; Other job "
        "loser",
    ),
    _nominal(
        "full or part time employment stat",
        15,
        "Children or Armed Forces; Full-time schedules; Unemployed part- time; Not in labor "
        "force; Unemployed full-time; PT for non-econ reasons usually FT; PT for econ reasons "
        "usually PT; PT for econ reasons usually FT",
    ),
    _money("capital gains", 16),
    _money("capital losses", 17),
    _money("dividends from stocks", 18),
    _nominal(
        "tax filer stat",
        19,
        "Nonfiler; Joint one under 65 & one 65+; Joint both under 65; Single; Head of "
        "household; Joint both 65+",
    ),
    _nominal(
        "region of previous residence",
        20,
        "Not in universe; South; Northeast; West; Midwest; Abroad",
    ),
    _nominal(
        "state of previous residence",
        21,
        "?; Not in universe; Utah; Michigan; North Carolina; North Dakota; Virginia; Vermont; "
        "Wyoming; West Virginia; Pennsylvania; Abroad; Oregon; California; Iowa; Florida; "
        "Arkansas; Texas; South Carolina; Arizona; Indiana; Tennessee; Maine; Alaska; Ohio; "
        "Montana; Nebraska; Mississippi; District of Columbia; Minnesota; Illinois; Kentucky; "
        "Delaware; Colorado; Maryland; Wisconsin; New Hampshire; Nevada; New York; Georgia; "
        "Oklahoma; New Mexico; South Dakota; Missouri; Kansas; Connecticut; Louisiana; Alabama; "
        "Massachusetts; Idaho; New Jersey",
    ),
    _nominal(
        "detailed household and family stat",
        22,
        "Child <18 never marr not in subfamily; Other Rel <18 never marr child of subfamily RP; "
        "Other Rel <18 never marr not in subfamily; Grandchild <18 never marr child of "
        "subfamily RP; Grandchild <18 never marr not in subfamily; Secondary individual; In "
        "group quarters; Child under 18 of RP of unrel subfamily; RP of unrelated subfamily; "
        "Spouse of householder; Householder; Other Rel <18 never married RP of subfamily; "
        "Grandchild <18 never marr RP of subfamily; Child <18 never marr RP of subfamily; Child "
        "<18 ever marr not in subfamily; Other Rel <18 ever marr RP of subfamily; Child <18 "
        "ever marr RP of subfamily; Nonfamily householder; Child <18 spouse of subfamily RP; "
        "Other Rel <18 spouse of subfamily RP; Other Rel <18 ever marr not in subfamily; "
        "Grandchild <18 ever marr not in subfamily; Child 18+ never marr Not in a subfamily; "
        "Grandchild 18+ never marr not in subfamily; Child 18+ ever marr RP of subfamily; Other "
        "Rel 18+ never marr not in subfamily; Child 18+ never marr RP of subfamily; Other Rel "
        "18+ ever marr RP of subfamily; Other Rel 18+ never marr RP of subfamily; Other Rel 18+ "
        "spouse of subfamily RP; Other Rel 18+ ever marr not in subfamily; Child 18+ ever marr "
        "Not in a subfamily; Grandchild 18+ ever marr not in subfamily; Child 18+ spouse of "
        "subfamily RP; Spouse of RP of unrelated subfamily; Grandchild 18+ ever marr RP of "
        "subfamily; Grandchild 18+ never marr RP of subfamily; Grandchild 18+ spouse of "
        "subfamily RP",
    ),
    _nominal(
        "detailed household summary in household",
        23,
        "Child under 18 never married; Other relative of householder; Nonrelative of "
        "householder; Spouse of householder; Householder; Child under 18 ever married; Group "
        "Quarters- Secondary individual; Child 18 or older",
    ),
    Number("instance weight", 24, highest=20_000.0),
    _nominal(
        "migration code-change in msa",
        25,
        "?; Not in universe; Nonmover; MSA to MSA; NonMSA to nonMSA; MSA to nonMSA; NonMSA to "
        "MSA; Abroad to MSA; Not identifiable; Abroad to nonMSA",
    ),
    _nominal(
        "migration code-change in reg",
        26,
        "?; Not in universe; Nonmover; Same county; Different county same state; Different "
        "state same division; Abroad; Different region; Different division same region",
    ),
    _nominal(
        "migration code-move within reg",
        27,
        "?; Not in universe; Nonmover; Same county; Different county same state; Different "
        "state in West; Abroad; Different state in Midwest; Different state in South; Different "
        "state in Northeast",
    ),
    _nominal("live in this house 1 year ago", 28, "Not in universe under 1 year old; Yes; No"),
    _nominal("migration prev res in sunbelt", 29, "?; Not in universe; Yes; No"),
    Number("num persons worked for employer", 30, highest=6.0, documented=True),
    _nominal(
        "family members under 18",
        31,
        "Both parents present; Neither parent present; Mother only present; Father only "
        "present; Not in universe",
    ),
    _nominal("country of birth father", 32, _COUNTRIES),
    _nominal("country of birth mother", 33, _COUNTRIES),
    _nominal("country of birth self", 34, _COUNTRIES),
    _nominal(
        "citizenship",
        35,
        "Native- Born in the United States; Foreign born- Not a citizen of U S; Native- Born in "
        "Puerto Rico or U S Outlying; Native- Born abroad of American Parent(s); Foreign born- "
        "U S citizen by naturalization",
    ),
    _codes("own business or self employed", 36, range(3)),
    _nominal("fill inc questionnaire for veteran's admin", 37, "Not in universe; Yes; No"),
    _codes("veterans benefits", 38, range(3)),
    Number("weeks worked in year", 39, highest=52.0, documented=True),
    _codes("year", 40, range(94, 96)),
    _INCOME,
)


def load_census(files: tuple[LocalFile, ...]) -> Dataset:
    """All 199,523 people of the training half."""
    return _census(files[0], _N_ROWS, "All 199,523 people of the training half")


def load_census_test(files: tuple[LocalFile, ...]) -> Dataset:
    """The 99,762 people of the test half, in place of the training half the paper used."""
    return _census(
        files[0],
        _N_TEST,
        "All 99,762 people of the test half (the paper used the 199,523 of the training half)",
        is_part=True,
    )


def load_census_head(files: tuple[LocalFile, ...]) -> Dataset:
    """The first 1,891 people of the training half."""
    return _census(
        files[0],
        _N_HEAD,
        "The first 1,891 of the 199,523 people of the training half",
        is_part=True,
    )


def _census(file: LocalFile, n_rows: int, which: str, *, is_part: bool = False) -> Dataset:
    X, income = read_table(read_lines(file, n_rows), COLUMNS, _INCOME, _N_FIELDS, file.path)
    return Dataset(
        name="census",
        title="Census income (KDD)",
        X=X,
        labels=income,
        label_names=_INCOME.levels,
        feature_names=feature_names(COLUMNS),
        default_components=8,
        provenance=f"{which} of Census-Income (KDD), encoded to the 2012 paper's 513 features "
        "(how is our guess; the income class is among them).",
        is_part=is_part,
        # 34 indicators are 1 in every row, and of 8 numbers a quarter at their top: sqrt(34 + 2).
        public_norm_bound=6.0,
        label_columns=slice(X.shape[1] - len(_INCOME.levels), X.shape[1]),
    )
